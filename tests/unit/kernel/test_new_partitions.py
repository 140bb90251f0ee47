"""Partitions that not every metastore can keep apart, or hold, are refused before the claim."""

from __future__ import annotations

import pytest

from kernel.support import COLUMNS, KEYS, locations, settled, stage
from lakemerge.errors import UnsupportedTable
from lakemerge.kernel import Kernel, TableDefinition, TableName
from lakemerge.kernel.commit.new_partitions import require_sound_names

NAME = TableName("s", "sales")


@pytest.mark.parametrize(
    ("known", "written", "removed"),
    [
        ([], {"p=a", "p=b "}, set()),
        ([], {"p=a "}, set()),
        (["p=a"], {"p=a"}, set()),
        (["p=a", "p=a "], {"p=a", "p=a "}, set()),  # their metastore keeps them apart
        (["p=a", "p=a "], {"p=b"}, {"p=a"}),
        (["p=a "], {"p=b"}, {"p=a "}),
        ([], {"q=1/p=a", "q=1 /p=a"}, set()),
        ([], {"p=" + "x" * 256 + "/q=" + "x" * 256 + "/r=" + "x" * 245}, set()),
        (["p=" + "x" * 800], {"p=" + "x" * 800}, set()),
    ],
)
def test_what_is_allowed(known: list[str], written: set[str], removed: set[str]) -> None:
    require_sound_names(NAME, known, written, removed)


@pytest.mark.parametrize(
    ("known", "written", "removed", "found"),
    [
        ([], {"p=a", "p=a "}, set(), "'p=a' beside 'p=a '"),
        (["p=a  "], {"p=a "}, set(), "'p=a ' beside 'p=a  '"),
        (["p=a"], {"p=a "}, {"p=a"}, "'p=a' beside 'p=a '"),
        ([], {"p=" + "x" * 766}, set(), "one of 768"),
    ],
)
def test_what_is_not(known: list[str], written: set[str], removed: set[str], found: str) -> None:
    with pytest.raises(UnsupportedTable, match=found):
        require_sound_names(NAME, known, written, removed)


def test_nothing_is_claimed(kernel: Kernel) -> None:
    txn = kernel.create(TableDefinition(NAME, COLUMNS, KEYS))
    stage(kernel, txn, {"p=1": ["a"]})
    txn.commit()
    txn = kernel.begin(NAME, "append")
    stage(kernel, txn, {"p=1 ": ["b"]})
    with pytest.raises(UnsupportedTable):
        txn.commit()
    txn.abort()
    assert (settled(kernel, NAME).version, [*locations(kernel, NAME)]) == (1, ["p=1"])
    txn = kernel.begin(NAME, "append")
    stage(kernel, txn, {"p=2": ["b"]})
    assert txn.commit() == 2
