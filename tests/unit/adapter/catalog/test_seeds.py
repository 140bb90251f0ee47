from __future__ import annotations

import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import agate
import pyarrow
import pytest
from dbt.adapters.lakemerge.catalog.seeds import (
    InvalidSeedColumn,
    InvalidSeedValue,
    _array,
    _text,
    check_columns,
    inferred_type,
)
from dbt_common.clients.agate_helper import from_csv

CSV = """id,amount,flag,day,moment,text,empty
1,1.5,true,2020-01-01,2020-01-01 10:00:00,it's,
2,2,false,2020-01-02,2020-01-01 11:00:00,a,
,,,,,,
"""


@pytest.fixture
def table(tmp_path: Path) -> agate.Table:
    path = tmp_path / "seed.csv"
    path.write_text(CSV)
    return from_csv(str(path), text_columns=[])


def values(table: agate.Table, name: str) -> Any:
    return table.columns[name].values()


@pytest.mark.parametrize(
    ("name", "spark_type"),
    [
        ("id", "bigint"),
        ("amount", "double"),
        ("flag", "boolean"),
        ("day", "date"),
        ("moment", "timestamp"),
        ("text", "string"),
        ("empty", "bigint"),
    ],
)
def test_types_of_columns(table: agate.Table, name: str, spark_type: str) -> None:
    assert inferred_type(table, table.column_names.index(name)) == spark_type


def test_nulls_stay_nulls_in_every_type(table: agate.Table) -> None:
    for name in table.column_names:
        spark_type = inferred_type(table, table.column_names.index(name))
        assert _array(name, spark_type, values(table, name))[2].as_py() is None


def test_values_keep_their_type(table: agate.Table) -> None:
    assert _array("id", "bigint", values(table, "id")).to_pylist() == [1, 2, None]
    assert _array("amount", "double", values(table, "amount")).to_pylist() == [1.5, 2.0, None]
    assert _array("flag", "boolean", values(table, "flag")).to_pylist() == [True, False, None]
    assert _array("day", "date", values(table, "day")).type == pyarrow.date32()
    # the session casts times, so that they are in its time zone
    moments = _array("moment", "timestamp", values(table, "moment"))
    assert moments.to_pylist() == ["2020-01-01T10:00:00", "2020-01-01T11:00:00", None]


def test_a_configured_type_leaves_the_text_as_it_is() -> None:
    assert _array("c", "decimal(10,2)", ("1.50", None)).to_pylist() == ["1.50", None]
    assert _array("c", "bigint", ("007", None)).to_pylist() == ["007", None]


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1])
def test_numbers_beyond_64_bits_are_refused_with_what_to_do(value: int) -> None:
    with pytest.raises(InvalidSeedValue, match="column big; found"):
        _array("big", "bigint", (Decimal(value),))


@pytest.mark.parametrize("value", [2**63 - 1, -(2**63)])
def test_the_ends_of_64_bits_fit(value: int) -> None:
    assert _array("big", "bigint", (Decimal(value),)).to_pylist() == [value]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Decimal("1E+3"), "1000"),
        (Decimal("1.10"), "1.10"),
        (True, "true"),
        (datetime.date(2020, 1, 2), "2020-01-02"),
        ("it's", "it's"),
    ],
)
def test_values_as_spark_casts_them_back(value: object, text: str) -> None:
    assert _text(value) == text


def test_a_wrong_delimiter_is_told_where_names_are_not_quoted() -> None:
    with pytest.raises(InvalidSeedColumn, match="set `delimiter`"):
        check_columns(["id", "a|b"], quote_columns=False)


@pytest.mark.parametrize("quote_columns", [True, None])
def test_names_that_need_quotes_may_be_quoted(quote_columns: bool | None) -> None:
    check_columns(["a b"], quote_columns)
    check_columns(["plain_1"], False)
