"""Tables that are merged on read: deltas beside a base, and what moves them into it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from lakemerge.kernel import (
    NAMED,
    Kernel,
    Manifest,
    Transaction,
    add_overlay,
    mark_folded,
    remove_overlay,
    retire_folded,
)
from lakemerge.kernel.table.layout import Layout
from lakemerge.kernel.table.manifest import WHOLE_TABLE
from lakemerge.kernel.table.overlay import DELTAS, FOLDED
from simulation.operations import (
    Merge,
    Model,
    Operation,
    _content,
    _ledger,
    _partition_of,
    _remember,
    _stage,
    is_partial,
    read,
)

#: A delta's row: key, sequence, value (``None`` deletes), order.
DeltaRow = list[Any]
# The property that holds the highest sequence that was merged, where it is known.
HIGHEST = "highest"


def merged(base: Iterable[Any], deltas: Iterable[DeltaRow]) -> list[Any]:
    """What the view shows: the base's rows whose key no delta has, and the newest of each key that is in one."""
    newest = newest_of(deltas)
    kept = [row for row in base if not isinstance(row, list) or row[0] not in newest]
    return kept + [row[:3] for row in newest.values() if row[2] is not None]


def newest_of(deltas: Iterable[DeltaRow]) -> dict[str, DeltaRow]:
    """Of each key the row with the highest order."""
    newest: dict[str, DeltaRow] = {}
    for row in deltas:
        if row[0] not in newest or newest[row[0]][3] < row[3]:
            newest[row[0]] = row
    return newest


def _write_deltas(kernel: Kernel, transaction: Transaction, rows: Iterable[DeltaRow]) -> str:
    directory = transaction.sidecar_directory(DELTAS)
    kernel.files.write_text(f"{directory}/part-0.orc", json.dumps(list(rows)))
    return directory


def deltas_of(kernel: Kernel, layout: Layout, folders: Sequence[str]) -> list[DeltaRow]:
    """The rows of some folders of deltas, relative to the root."""
    rows: list[DeltaRow] = []
    for folder in folders:
        rows += json.loads(read(kernel, f"{layout.absolute(folder)}/part-0.orc"))
    return rows


@dataclass
class MergeOnRead(Merge):
    """As a merge; while a view is there, by a delta.

    What is late or partial is matched with the base, the rest is not.
    """

    def attempt(self, kernel: Kernel) -> int | None:
        transaction = self.began(kernel.begin(self.table, "merge"))
        try:
            if transaction.overlay is None:
                return self._merge(kernel, transaction)
            return self._add_delta(kernel, transaction)
        finally:
            transaction.abort()

    def _add_delta(self, kernel: Kernel, transaction: Transaction) -> int | None:
        base = transaction.base
        assert base is not None
        self.truncate = -1
        if self._is_matched(base):
            # what the highest is, all rows tell
            has_highest = base.properties.get(HIGHEST) is not None
            transaction.read(self._partitions(base) if has_highest else None)
            base = transaction.base
            assert base is not None
        matched = self._is_matched(base)
        names = self._partitions(base) if base.properties.get(HIGHEST) is not None else set(base.partitions)
        transaction.let_rows_move()
        transaction.read_side_data(DELTAS)
        transaction.read_side_data("ledger")
        model = _ledger(kernel, transaction)
        deltas = deltas_of(kernel, transaction.layout, base.sidecars.get(DELTAS, ()))
        stored = [
            row for name in names if matched for row in _content(kernel, transaction.layout, base, name)
        ]
        for row in merged(stored, deltas):
            model.keyed[row[0]] = (row[1], row[2])
        known = model.copy()
        self.apply(model)
        order = base.version + 1
        touched = sorted({key for key, _, _ in self.changes})
        rows = [
            [key, *model.keyed.get(key, (model.tombstones.get(key, -1), None)), order]
            for key in touched
            # what is in the base is not known if it was not read
            if not matched or model.keyed.get(key) != known.keyed.get(key)
        ]
        if not rows and model.tombstones == known.tombstones:
            return None
        if rows:
            transaction.add_sidecar(DELTAS, _write_deltas(kernel, transaction, rows))
        if model.tombstones != known.tombstones:
            _remember(kernel, transaction, model, None)
        sequences = [sequence for _, sequence, _ in self.changes]
        sequences += [sequence for sequence, _ in known.keyed.values()] if matched else []
        transaction.properties = {HIGHEST: [max([*sequences, *base.properties.get(HIGHEST, ())])]}
        return transaction.commit()

    def _is_matched(self, base: Manifest) -> bool:
        """Whether a change may be older than what is stored, or takes a part of it."""
        highest = base.properties.get(HIGHEST)
        is_late = highest is None or any(sequence <= max(highest) for _, sequence, _ in self.changes)
        return is_late or any(map(is_partial, self.changes))

    def _partitions(self, base: Manifest) -> set[str]:
        return {_partition_of(key, base.partition_columns) for key, _, _ in self.changes}


@dataclass
class Lay(Operation):
    """A view in the table's place; no rows change."""

    def apply(self, model: Model) -> None:
        return

    def attempt(self, kernel: Kernel) -> int | None:
        transaction = self.began(kernel.begin(self.table, "write_mode"))
        try:
            if transaction.overlay is not None:
                return None
            add_overlay(transaction, f"select {NAMED}", ("k",))
            return transaction.commit()
        finally:
            transaction.abort()


@dataclass
class FoldDeltas(Operation):
    """All deltas in one folder."""

    def apply(self, model: Model) -> None:
        return

    def attempt(self, kernel: Kernel) -> int | None:
        transaction = self.began(kernel.begin(self.table, "compact", data_change=False))
        try:
            base = transaction.base
            assert base is not None
            folders = base.sidecars.get(DELTAS, ())
            if len(folders) < 2:
                return None
            newest = newest_of(deltas_of(kernel, transaction.layout, folders))
            directory = _write_deltas(kernel, transaction, newest.values())
            mark_folded(transaction, folders, [directory])
            transaction.properties = dict(base.properties)
            return transaction.commit()
        finally:
            transaction.abort()


@dataclass
class IntoBase(Operation):
    """What deltas hold, moved into the base.

    Attributes:
        most: how many partitions are written; for the others a delta stays.
    """

    most: int | None = None

    def apply(self, model: Model) -> None:
        return

    def attempt(self, kernel: Kernel) -> int | None:
        transaction = self.began(kernel.begin(self.table, "compact", data_change=False))
        try:
            before = transaction.base
            assert before is not None
            folders = before.sidecars.get(DELTAS, ())
            if before.overlay is None or not folders:
                return None
            deltas = deltas_of(kernel, transaction.layout, folders)
            touched = {_partition_of(row[0], before.partition_columns) for row in deltas}
            names = sorted(touched)[: self.most]
            transaction.read(names)
            base = transaction.base
            assert base is not None
            if base.sidecars.get(DELTAS, ())[: len(folders)] != folders:
                return None
            of_partition = {
                name: [row for row in deltas if _partition_of(row[0], base.partition_columns) == name]
                for name in touched
            }
            after = {
                name: merged(_content(kernel, transaction.layout, base, name), of_partition.pop(name))
                for name in names
            }
            _stage(kernel, transaction, {name: rows for name, rows in after.items() if rows}, base)
            transaction.remove({name for name, rows in after.items() if not rows and name != WHOLE_TABLE})
            stay = newest_of(row for rows in of_partition.values() for row in rows)
            left = [_write_deltas(kernel, transaction, stay.values())] if stay else []
            mark_folded(transaction, folders, left)
            transaction.properties = dict(base.properties)
            return transaction.commit()
        finally:
            transaction.abort()


@dataclass
class SomeIntoBase(IntoBase):
    """The deltas of one partition, moved into the base."""

    most: int | None = 1


@dataclass
class Retire(Operation):
    """Deltas taken away that the base holds."""

    def apply(self, model: Model) -> None:
        return

    def attempt(self, kernel: Kernel) -> int | None:
        transaction = self.began(kernel.begin(self.table, "compact", data_change=False))
        try:
            if transaction.base is None or not transaction.base.sidecars.get(FOLDED):
                return None
            retire_folded(transaction, transaction.base.sidecars[FOLDED])
            return transaction.commit()
        finally:
            transaction.abort()


@dataclass
class TakeOff(Operation):
    """The view taken away, once the base holds all deltas."""

    def apply(self, model: Model) -> None:
        return

    def attempt(self, kernel: Kernel) -> int | None:
        transaction = self.began(kernel.begin(self.table, "write_mode"))
        try:
            base = transaction.base
            if base is None or base.overlay is None or base.sidecars.get(DELTAS):
                return None
            remove_overlay(transaction)
            return transaction.commit()
        finally:
            transaction.abort()
