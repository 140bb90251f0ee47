"""Commits of several tables, each with the tables that it starts from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from kernel.support import (
    COLUMNS,
    KEYS,
    OTHER_KEYS,
    WIDER_COLUMNS,
    Picture,
    add_delta,
    add_overlay,
    append,
    begin_delta,
    begin_overlay,
    create,
    create_appendable,
    merge,
    move_into_base,
    picture,
    stage,
)
from lakemerge.kernel import (
    DEFAULT_PARTITION,
    Kernel,
    TableDefinition,
    TableName,
    Transaction,
    remove_overlay,
)

#: The steps of a commit of several tables, in order; those of a swap happen for each table that has one.
STEPS = (
    "staged",
    "manifest written",
    "table claimed",
    "claimed",
    "confirmed",
    "registered",
    "swapped",
    "dropped",
    "settled",
)
#: Until these, nothing is decided.
BEFORE_DECISION = STEPS[:3]


@dataclass(frozen=True)
class Part:
    """What a group does to one table.

    Attributes:
        prepare: makes the old state.
        begin: does the work, and leaves the commit.
    """

    prepare: Callable[[Kernel, TableName], object]
    begin: Callable[[Kernel, TableName], Transaction]


@dataclass(frozen=True)
class GroupKind:
    """A kind of commit over several tables, the first of which has the given name."""

    parts: tuple[Part, ...]

    def names(self, name: TableName) -> list[TableName]:
        """The tables, in the order of the parts, which is not that of their names."""
        letters = "bcaed"[: len(self.parts)]
        return [TableName(name.schema, f"{name.name}_{letter}") for letter in letters]

    def prepare(self, kernel: Kernel, name: TableName) -> None:
        for part, table in zip(self.parts, self.names(name), strict=True):
            part.prepare(kernel, table)

    def begin(self, kernel: Kernel, name: TableName) -> list[Transaction]:
        """Do all the work, and leave the commit."""
        return [part.begin(kernel, table) for part, table in zip(self.parts, self.names(name), strict=True)]

    def run(self, kernel: Kernel, name: TableName) -> None:
        kernel.commit_together(self.begin(kernel, name))

    def pictures(self, kernel: Kernel, name: TableName) -> list[Picture | None]:
        """What readers see of each table."""
        return [picture(kernel, table) for table in self.names(name)]


def _partitioned(kernel: Kernel, name: TableName) -> None:
    create(kernel, name, {"p=1": ["a1"], "p=2": ["a2"], "p=gone": ["a3"]})
    merge(kernel, name, {"p=1": ["a1", "b1"]})


def _swap(kernel: Kernel, name: TableName) -> Transaction:
    txn = kernel.begin(name, "merge")
    txn.read(["p=1", "p=gone", "p=new"])
    stage(kernel, txn, {"p=1": ["new1"], "p=new": ["new2"]})
    txn.remove(["p=gone"])
    txn.set_parameters({"comment": "of the group"})
    return txn


def _whole(kernel: Kernel, name: TableName) -> None:
    create(kernel, name, {"": ["a", "b"]})


def _swap_whole(kernel: Kernel, name: TableName) -> Transaction:
    txn = kernel.begin(name, "merge")
    txn.read()
    stage(kernel, txn, {"": ["new"]})
    txn.set_schema(WIDER_COLUMNS)
    return txn


def _appendable(kernel: Kernel, name: TableName) -> None:
    create_appendable(kernel, name, {"p=1": ["a1"]})
    append(kernel, name, {"p=1": ["b1"]})


def _append(kernel: Kernel, name: TableName) -> Transaction:
    txn = kernel.begin(name, "append")
    stage(kernel, txn, {f"p=1/c={DEFAULT_PARTITION}": ["c1"]})
    return txn


def _rebuild(kernel: Kernel, name: TableName) -> Transaction:
    txn = kernel.begin(name, "replace")
    txn.replace_all()
    txn.set_schema(COLUMNS, OTHER_KEYS)
    stage(kernel, txn, {"q=1/r=x": ["n1"], "q=2/r=y": ["n2"]})
    return txn


def _on_read(kernel: Kernel, name: TableName) -> None:
    _partitioned(kernel, name)
    add_overlay(kernel, name)
    add_delta(kernel, name, "delta 1")


def _on_read_whole(kernel: Kernel, name: TableName) -> None:
    _whole(kernel, name)
    add_overlay(kernel, name, "delta 1")


def _folded(kernel: Kernel, name: TableName) -> None:
    _on_read(kernel, name)
    move_into_base(kernel, name, {"p=1": ["merged"], "p=new": ["merged too"]})


def _delta(kernel: Kernel, name: TableName) -> Transaction:
    return begin_delta(kernel, name, "delta 2")


def _lay(kernel: Kernel, name: TableName) -> Transaction:
    return begin_overlay(kernel, name, "delta 1")


def _take(kernel: Kernel, name: TableName) -> Transaction:
    txn = kernel.begin(name, "write_mode")
    remove_overlay(txn)
    return txn


def _nothing(kernel: Kernel, name: TableName) -> None:
    return None


def _create(rows: Mapping[str, list[str]]) -> Callable[[Kernel, TableName], Transaction]:
    def begin(kernel: Kernel, name: TableName) -> Transaction:
        keys = () if list(rows) == [""] else KEYS
        txn = kernel.create(TableDefinition(name, COLUMNS, keys))
        stage(kernel, txn, rows)
        return txn

    return begin


SWAP, WHOLE, APPEND = Part(_partitioned, _swap), Part(_whole, _swap_whole), Part(_appendable, _append)
REBUILD = Part(_partitioned, _rebuild)
DELTA, DELTA_WHOLE = Part(_on_read, _delta), Part(_on_read_whole, _delta)
LAY, LAY_WHOLE, TAKE = Part(_partitioned, _lay), Part(_whole, _lay), Part(_folded, _take)
CREATE, CREATE_WHOLE = (
    Part(_nothing, _create({"p=1": ["n1"], "p=2": ["n2"]})),
    Part(_nothing, _create({"": ["n"]})),
)

GROUPS = {
    "group-of-two": GroupKind((SWAP, WHOLE)),
    "group-of-three": GroupKind((WHOLE, CREATE, SWAP)),
    "group-of-appends": GroupKind((APPEND, APPEND)),
    "group-rebuilt": GroupKind((REBUILD, WHOLE)),
    "group-created": GroupKind((CREATE_WHOLE, CREATE)),
    "group-of-five": GroupKind((SWAP, WHOLE, APPEND, REBUILD, CREATE_WHOLE)),
    "group-on-read": GroupKind((DELTA, SWAP)),
    "group-of-deltas": GroupKind((DELTA_WHOLE, DELTA)),
    "group-of-modes": GroupKind((LAY, DELTA, SWAP)),
    "group-of-views": GroupKind((TAKE, LAY_WHOLE)),
}
