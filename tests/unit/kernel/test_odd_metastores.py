"""A metastore that lists other names than its rows have, and a table that never stands still."""

from __future__ import annotations

import getpass
import itertools
from collections.abc import Sequence
from typing import TypeVar

import pytest

from kernel.support import COLUMNS, KEYS, create, locations, merge, settled, stage
from lakemerge.errors import ForeignWrite
from lakemerge.kernel import Kernel, TableDefinition, TableName
from lakemerge.kernel.ports import FileSystem, HivePartition
from lakemerge.testing import MemoryMetastore, World

NAME = TableName("s", "sales")
M = TypeVar("M", bound=MemoryMetastore)
_NUMBERS = itertools.count()


class PaddedList(MemoryMetastore):
    """As Derby, which takes texts for equal that differ in blanks at their end.

    Attributes:
        padded: whether names are listed with a blank at their end. So they are where a partition was dropped and made
            again without the blank, and the list is read from an index, which keeps the old text.
    """

    padded = False

    def partition_names(self, name: TableName) -> list[str]:
        return [f"{one} " if self.padded else one for one in super().partition_names(name)]

    def partitions(self, name: TableName, names: Sequence[str]) -> list[HivePartition]:
        return super().partitions(name, [one.rstrip(" ") for one in names])


class Restless(MemoryMetastore):
    """Another program writes one more file each time that somebody looks.

    Attributes:
        files: where it writes; ``None`` while it does not.
    """

    files: FileSystem | None = None

    def partitions(self, name: TableName, names: Sequence[str]) -> list[HivePartition]:
        found = super().partitions(name, names)
        if self.files is not None:
            self.files.write_text(f"{found[0].location}/foreign-{next(_NUMBERS)}.orc", "x")
        return found


def _table(kind: type[M]) -> tuple[Kernel, M]:
    world = World()
    world.metastore = metastore = kind(world.timeline)
    kernel = Kernel(world.process())
    txn = kernel.create(TableDefinition(NAME, COLUMNS, KEYS))
    stage(kernel, txn, {"p=1": ["a"], "p=2": ["b"]})
    txn.commit()
    return kernel, metastore


def _write(kernel: Kernel, *names: str) -> int | None:
    txn = kernel.begin(NAME, "merge")
    txn.read(names or None)
    stage(kernel, txn, {"p=1": ["new"]})
    return txn.commit()


@pytest.mark.parametrize("names", [(), ("p=1",)], ids=["all", "one"])
def test_a_partition_that_is_listed_by_another_name_is_not_gone(names: tuple[str, ...]) -> None:
    kernel, metastore = _table(PaddedList)
    metastore.padded = True
    assert _write(kernel, *names) == 2
    assert sorted(kernel.manifest(settled(kernel, NAME)).partitions) == ["p=1", "p=2"]
    metastore.padded = False
    assert sorted(locations(kernel, NAME)) == ["p=1", "p=2"]
    kernel.recover(NAME)
    assert settled(kernel, NAME).version == 2


def test_a_table_that_never_stands_still_ends_the_run() -> None:
    kernel, metastore = _table(Restless)
    metastore.files = kernel.files
    with pytest.raises(
        ForeignWrite,
        match=r"(?s)not to change while.*after each of 20 versions that did so: p=1.*Stop the program",
    ):
        _write(kernel)
    metastore.files = None
    before = settled(kernel, NAME).version
    assert _write(kernel) == before + 1


@pytest.mark.parametrize("error", [KeyError, OSError])
def test_a_user_without_a_name_takes_locks(error: type[Exception], monkeypatch: pytest.MonkeyPatch) -> None:
    """In a container, the user may have no entry in the list of users."""

    def nobody() -> str:
        raise error("getpwuid(): uid not found: 12345")

    monkeypatch.setattr(getpass, "getuser", nobody)
    world = World()
    world.metastore.honours_expectations = False
    kernel = Kernel(world.process())
    create(kernel, NAME, {"p=1": ["old"]})
    assert merge(kernel, NAME, {"p=1": ["new"]}) == 2
