"""Names of tables, as people write them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakemerge.engine.maintenance import tables
from lakemerge.errors import InvalidConfig
from lakemerge.kernel import TableName

PART = st.text(st.characters(exclude_characters="`.", exclude_categories=["Z", "C"]), min_size=1)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("orders", ("here", "orders")),
        ("Shop.Orders", ("shop", "orders")),
        (" shop.orders\n", ("shop", "orders")),
        ("`shop`.`orders`", ("shop", "orders")),
        ("my-shop.`orders`", ("my-shop", "orders")),
        ("shop.raw_*", ("shop", "raw_*")),
    ],
)
def test_a_name_has_one_part_or_two(text: str, name: tuple[str, str]) -> None:
    assert TableName.parse(text, "here") == TableName(*name)


WRONG: list[Any] = [
    *(
        "",
        " ",
        ".",
        "a.",
        ".a",
        "a..b",
        "a.b.c",
        "spark_catalog.a.b",
        "`a`.`b`.`c`",
        "`a.b`",
        "`a.b`.c",
        "a.`b.c`",
    ),
    *("`a", "a`", "``", "a``b", "`a`b", "a b", "a. b", "a .b", "a.b;c d", None, 5, ["a"]),
]


@pytest.mark.parametrize("text", WRONG)
def test_whatever_else_is_refused(text: Any) -> None:
    with pytest.raises(InvalidConfig, match="Expected the name of a table"):
        TableName.parse(text, "here")


@given(schema=PART, name=PART)
def test_a_name_that_is_printed_is_read_again(schema: str, name: str) -> None:
    table = TableName(schema, name)
    assert TableName.parse(str(table), "here") == table
    assert TableName.parse(f"`{table.schema}`.`{table.name}`", "here") == table


@pytest.mark.parametrize("text", ["orders", "shop*.orders", "a.b.c", "`a`.`b`.`c`"])
def test_maintenance_takes_names_with_a_schema(text: str) -> None:
    with pytest.raises(InvalidConfig):
        tables._qualified(text)
