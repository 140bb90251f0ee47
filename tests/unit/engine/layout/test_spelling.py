"""Names of partitions that the metastore spells otherwise than Spark."""

from __future__ import annotations

import pytest

from lakemerge.engine.layout.partition_spelling import Spelling
from lakemerge.errors import UnsupportedTable
from lakemerge.kernel import DEFAULT_PARTITION

SPELLING = Spelling(
    "`s`.`t`",
    {
        "month=1/day=1": ("month=01/day=1",),
        "month=1/day=2": ("month=1/day=2",),
        "month=3/day=1": ("month=03/day=1", "month=3/day=1"),
        f"month={DEFAULT_PARTITION}/day=1": ("month=x/day=1",),
    },
    ({"1": "01", "3": "03"}, {}),
)


def test_a_stored_partition_keeps_its_name() -> None:
    assert SPELLING.names("month=1/day=1") == ("month=01/day=1",)
    assert SPELLING.names("month=1/day=2") == ("month=1/day=2",)


def test_a_new_partition_spells_a_value_as_others_do() -> None:
    assert SPELLING.names("month=1/day=9") == ("month=01/day=9",)
    assert SPELLING.names("month=7/day=9") == ("month=7/day=9",)
    assert Spelling().names("month=1/day=9") == ("month=1/day=9",)


def test_partitions_of_the_same_values_are_known_together() -> None:
    both = ("month=03/day=1", "month=3/day=1")
    assert SPELLING.names("month=3/day=1") == both
    assert SPELLING.twins(both[:1]) == {both[1]}
    SPELLING.check(both)
    with pytest.raises(UnsupportedTable, match="found month=3/day=1 beside others of the same values"):
        SPELLING.check(both[:1])


def test_text_that_is_no_value_is_refused() -> None:
    with pytest.raises(UnsupportedTable, match="month=x/day=1, whose text is no value"):
        SPELLING.check(["month=x/day=1"])
