"""The options of append tables and of consume(), checked before anything runs."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from unittest.mock import MagicMock, Mock

import pytest
from dbt.adapters.lakemerge.methods.consuming import ConsumingMethods
from dbt_common.exceptions import CompilationError

from lakemerge.engine.consume.consume_options import ConsumeConfig
from lakemerge.engine.relations.file_frames import as_uri
from lakemerge.engine.strategies import config_of
from lakemerge.errors import InvalidConfig

PARTITIONED = {"append_layout": "commit_partitioned"}


def test_append_layout() -> None:
    assert config_of(PARTITIONED, "append").new_commit_column == "_commit"
    assert config_of({}, "append").new_commit_column == ""


@pytest.mark.parametrize(
    ("config", "strategy"),
    [
        ({**PARTITIONED, "unique_key": "id"}, "merge"),
        ({"commit_column": "c"}, "append"),
        ({"commit_column": "c", "unique_key": "id"}, "merge"),
        ({"append_layout": "other"}, "append"),
        ({"catalog_name": "lake"}, "append"),
    ],
)
def test_options_that_contradict(config: dict[str, Any], strategy: str) -> None:
    with pytest.raises(InvalidConfig):
        config_of(config, strategy)


@pytest.mark.parametrize(
    ("wanted", "found"), [("", "_commit"), ("_commit", "_commit"), ("_commit", ""), ("_commit", "other")]
)
def test_a_table_keeps_its_layout(wanted: str, found: str) -> None:
    config = config_of(PARTITIONED if wanted else {}, "append")
    if wanted in ("", found):
        config.require_layout("db.t", found)
    else:
        with pytest.raises(InvalidConfig, match="--full-refresh"):
            config.require_layout("db.t", found)


def test_arguments_of_consume() -> None:
    given = {
        "limit": 3,
        "max_bytes": "10gb",
        "timeout": "2 hours",
        "max_retries": 0,
        "where": "a = 1",
        "pin": None,
    }
    config = ConsumeConfig.of(given, "clean")
    assert config.consumer == "clean"
    options = config.options
    assert (options.limit, options.max_bytes, options.max_retries) == (3, 10 * 2**30, 0)
    assert (options.timeout, options.pin, options.where) == (timedelta(hours=2), timedelta(days=7), "a = 1")
    assert ConsumeConfig.of({}, "clean").options.limit is None


def test_all_that_is_wrong_is_named() -> None:
    with pytest.raises(InvalidConfig) as caught:
        ConsumeConfig.of({"limit": 0, "on_rewrite": "redo", "timeout": "soon", "size": 3}, "clean")
    for name in ("limit", "on_rewrite", "timeout", "size"):
        assert name in str(caught.value)


@pytest.mark.parametrize(
    ("path", "uri"),
    [
        ("file:///a/b", "file:/a/b"),
        ("file:/a b/p=1%2F2/x", "file:/a%20b/p=1%252F2/x"),
        ("hdfs://host:8020/ä+&,;", "hdfs://host:8020/ä+&,;"),
    ],
)
def test_paths_as_spark_shows_them(path: str, uri: str) -> None:
    assert as_uri(path) == uri


@pytest.mark.parametrize(
    ("kind", "reported"),
    [("ingest", "Let an incremental model consume its table."), ("table", "Change `materialized`.")],
)
def test_consume_is_refused_where_nothing_would_take_what_it_asks_for(kind: str, reported: str) -> None:
    model = {"resource_type": "model", "unique_id": "model.shop.raw", "config": {"materialized": kind}}
    with pytest.raises(CompilationError) as raised:
        ConsumingMethods(MagicMock()).consume({}, Mock(), model, {}, "run")
    assert str(raised.value).endswith(f"found {kind} model.shop.raw. {reported}")
