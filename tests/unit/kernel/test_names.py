"""Names of tables and partitions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakemerge.kernel import TableName
from lakemerge.kernel.ports.names import DEFAULT_PARTITION, escape, partition_name, partition_values, unescape

#: What a partition's value can be in Hive: any text, but no control character that XML or SQL would refuse.
VALUES = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"], min_codepoint=1), min_size=1)


def test_table_names_are_lower_case_as_in_hive() -> None:
    assert TableName("Sales", "Products") == TableName("sales", "products")
    assert str(TableName("Sales", "Products")) == "sales.products"


@pytest.mark.parametrize(
    ("value", "escaped"),
    [
        ("plain", "plain"),
        ("a/b", "a%2Fb"),
        ("a=b", "a%3Db"),
        ("100%", "100%25"),
        ("it's", "it%27s"),
        ('say "x"', "say %22x%22"),
        ("a b", "a b"),
        ("naïve 日本", "naïve 日本"),
        ("2026-11-21 10:00:00", "2026-11-21 10%3A00%3A00"),
        ("{x}[y]^", "%7Bx}%5By%5D%5E"),
        ("tab\there", "tab%09here"),
        ("\x7f", "%7F"),
        ("", DEFAULT_PARTITION),
    ],
)
def test_values_are_escaped_as_hive_does(value: str, escaped: str) -> None:
    assert escape(value) == escaped


@given(VALUES)
def test_escaping_is_undone(value: str) -> None:
    assert unescape(escape(value)) == value


@given(st.lists(VALUES, min_size=1, max_size=4))
def test_a_partition_name_holds_its_values(values: list[str]) -> None:
    columns = [f"c{number}" for number in range(len(values))]
    assert partition_values(partition_name(columns, values)) == values


@given(VALUES)
def test_an_escaped_value_is_one_path_part(value: str) -> None:
    assert "/" not in escape(value)
    assert "=" not in escape(value)


def test_partition_columns_are_written_in_lower_case() -> None:
    assert partition_name(["Day", "Shop"], ["1", "a/b"]) == "day=1/shop=a%2Fb"


def test_columns_and_values_must_match() -> None:
    with pytest.raises(ValueError, match="argument 2 is shorter"):
        partition_name(["a", "b"], ["1"])
