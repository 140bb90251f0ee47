"""The format of files: ours, dbt-spark's old spelling, and formats that are not Hive's."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.adapters.lakemerge.impl import LakemergeAdapter
from dbt_common.exceptions import CompilationError

from lakemerge.engine.strategies import config_of
from lakemerge.errors import InvalidConfig


@pytest.mark.parametrize(
    ("config", "found"),
    [
        ({}, "orc"),
        ({"file_format": None}, "orc"),
        ({"file_format": ""}, "orc"),
        ({"file_format": "Parquet"}, "parquet"),
        ({"file_format": "hive", "options": {"fileFormat": "orc"}}, "orc"),
        ({"file_format": "hive", "options": {"FILEFORMAT": "PARQUET"}}, "parquet"),
    ],
)
def test_formats(config: dict[str, Any], found: str) -> None:
    written = config_of(config, "replace")
    assert (written.file_format, written.names_format) == (found, bool(config.get("file_format")))
    assert LakemergeAdapter.file_format(config.get("file_format"), config.get("options")) == found


@pytest.mark.parametrize(
    ("config", "problem"),
    [
        ({"file_format": "hive"}, "file_format 'hive' needs options"),
        ({"file_format": "hive", "options": {"fileFormat": "textfile"}}, "file_format 'hive' needs options"),
        ({"file_format": "csv"}, "must be one of orc, parquet, not 'csv'"),
        ({"file_format": "delta"}, "plain Hive tables.* an adapter for delta"),
        ({"file_format": "iceberg"}, "plain Hive tables.* an adapter for iceberg"),
        ({"file_format": "hudi"}, "plain Hive tables.* an adapter for hudi"),
    ],
)
def test_other_formats(config: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidConfig, match=problem):
        config_of(config, "replace")
    with pytest.raises(CompilationError, match=problem):
        LakemergeAdapter.file_format(config["file_format"], config.get("options"))


def test_an_empty_word_is_not_given() -> None:
    assert config_of({"on_schema_change": "", "publish": ""}, "replace") == config_of({}, "replace")
