from __future__ import annotations

from typing import Any

import pytest

from lakemerge.engine.history.scd2_options import Scd2Config
from lakemerge.engine.merge.merge_options import MergeConfig
from lakemerge.engine.strategies import config_of
from lakemerge.errors import InvalidConfig

FEED = {"unique_key": "id", "sequence_by": "ts", "stored_as_scd_type": 2}


def read(**options: Any) -> Any:
    return config_of({**FEED, **options}, "merge")


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (None, ("__start_at", "__end_at")),
        ("auto_cdc", ("__start_at", "__end_at")),
        ("dbt", ("dbt_valid_from", "dbt_valid_to")),
        ({"start_at": "Valid_From"}, ("valid_from", "__end_at")),
    ],
)
def test_names_of_the_bounds(names: Any, expected: tuple[str, str]) -> None:
    found = read(history_column_names=names).scd2
    assert found is not None
    assert found.columns == expected


def test_a_bitemporal_history_has_two_columns_more() -> None:
    found = read(bitemporal=True, history_column_names={"known_to": "until_version"}).scd2
    assert found is not None
    assert found.columns == ("__start_at", "__end_at", "__known_from", "until_version")


@pytest.mark.parametrize("kind", [None, 1, "1"])
def test_the_default_keeps_no_history(kind: Any) -> None:
    found = read(stored_as_scd_type=kind)
    assert (type(found), found.keeps_history) == (MergeConfig, False)


@pytest.mark.parametrize("kind", [2, "2"])
def test_history_has_the_split_layout(kind: Any) -> None:
    found = read(stored_as_scd_type=kind)
    assert (found.scd2, found.keeps_history) == (Scd2Config(), True)
    assert found.history.partition_by(["region"]) == ("region", "dbt_closed_in")


def test_all_that_is_wrong_is_named_at_once() -> None:
    with pytest.raises(InvalidConfig) as raised:
        read(
            sequence_by=None,
            sync="full",
            ignore_null_updates=True,
            merge_update_columns=["a"],
            incremental_predicates=["true"],
            track_history_column_list="a",
            track_history_except_column_list="b",
            history_column_names="latin",
            history_layout="both",
        )
    for part in (
        "needs sequence_by",
        "sync 'full' has no meaning",
        "ignore_null_updates has no meaning",
        "merge_update_columns has no meaning",
        "incremental_predicates has no meaning",
        "exclude each other",
        "not 'latin'",
        "history_layout must be",
    ):
        assert part in str(raised.value)


@pytest.mark.parametrize(
    ("options", "strategy", "problem"),
    [
        (
            {"history_layout": "plain"},
            "merge",
            "history_layout only have a meaning for tables that keep history",
        ),
        ({"bitemporal": True}, "merge", "bitemporal only have a meaning with stored_as_scd_type 2"),
        (
            {"stored_as_scd_type": 2},
            "append",
            "stored_as_scd_type only have a meaning with incremental_strategy",
        ),
    ],
)
def test_options_of_a_history_elsewhere(options: dict[str, Any], strategy: str, problem: str) -> None:
    key = {"unique_key": "id"} if strategy == "merge" else {}
    with pytest.raises(InvalidConfig, match=problem):
        config_of({**key, **options}, strategy)


def test_known_names_without_bitemporal() -> None:
    with pytest.raises(InvalidConfig, match="known_to only have a meaning with bitemporal"):
        read(history_column_names={"known_to": "x"})
