"""Rows for which a condition holds, wherever they are: deleted and updated, or copied by an INSERT … SELECT."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lakemerge.errors import CommitConflict
from lakemerge.kernel import WHOLE_TABLE, Kernel, Manifest, Transaction
from simulation.operations import (
    Model,
    Operation,
    _content,
    _ledger,
    _partition_of,
    _remember,
    _stage,
    count,
    partition_number,
)

_RESTS = 3


@dataclass
class ByCondition(Operation):
    """Rows whose sequence, divided by three, leaves a rest; only partitions that have some are rewritten.

    A deleted row is remembered at its sequence, so that no change that was made before brings it back.

    Attributes:
        rest: the rest.
        number: of the partition that the condition names; ``None`` where it names none.
        deletes: whether they are deleted, or get another value.
    """

    rest: int = 0
    number: int | None = None
    deletes: bool = True

    def apply(self, model: Model) -> None:
        for key, (sequence, _) in list(model.keyed.items()):
            if sequence % _RESTS != self.rest or self.number not in (None, partition_number(key)):
                continue
            if self.deletes:
                del model.keyed[key]
                model.tombstones[key] = max(sequence, model.tombstones.get(key, -1))
            else:
                model.keyed[key] = (sequence, self.label)

    def attempt(self, kernel: Kernel) -> int | None:
        transaction = self.began(kernel.begin(self.table, "delete" if self.deletes else "update"))
        try:
            return self._change(kernel, transaction)
        finally:
            transaction.abort()

    def _change(self, kernel: Kernel, transaction: Transaction) -> int | None:
        base = transaction.base
        assert base is not None
        names = self._reach(base)
        transaction.read(names, missing=True)
        if transaction.base is not base:
            raise CommitConflict(expected="the same version", found="another", action="Begin again.")
        before = {name: _content(kernel, transaction.layout, base, name) for name in names}
        after: dict[str, list[Any]] = {}
        deleted = Model()
        for name, rows in before.items():
            part = Model({key: (sequence, value) for key, sequence, value in rows})
            self.apply(part)
            after[name] = [[key, sequence, value] for key, (sequence, value) in part.keyed.items()]
            deleted.tombstones.update(part.tombstones)
        changed = {name for name in names if sorted(after[name]) != sorted(before[name])}
        if not changed:
            return None
        _stage(kernel, transaction, {name: after[name] for name in changed if after[name]}, base)
        transaction.remove({name for name in changed if not after[name] and name != WHOLE_TABLE})
        if deleted.tombstones:
            transaction.read_side_data("ledger")
            known = _ledger(kernel, transaction)
            for key, sequence in deleted.tombstones.items():
                known.tombstones[key] = max(sequence, known.tombstones.get(key, -1))
            _remember(kernel, transaction, known, None)
        count(transaction, sum(len(after[name]) - len(before[name]) for name in changed))
        return transaction.commit()

    def _reach(self, base: Manifest) -> set[str]:
        """The partitions that the condition can hold in."""
        if self.number is None or not base.partition_columns:
            return set(base.partitions)
        return {_partition_of(f"k{self.number}", base.partition_columns)} & set(base.partitions)


@dataclass
class CopyNewest(Operation):
    """A row for a key that has none, at the highest sequence of all others: in their partitions, or in a new one."""

    number: int = 0

    def apply(self, model: Model) -> None:
        key = f"k{self.number}"
        if model.keyed and key not in model.keyed:
            model.keyed[key] = (max(sequence for sequence, _ in model.keyed.values()), self.label)

    def attempt(self, kernel: Kernel) -> int | None:
        transaction = self.began(kernel.begin(self.table, "insert"))
        try:
            transaction.read()
            base = transaction.base
            assert base is not None
            parts = {name: _content(kernel, transaction.layout, base, name) for name in base.partitions}
            rows = [row for part in parts.values() for row in part]
            model = Model({key: (sequence, value) for key, sequence, value in rows})
            self.apply(model)
            if len(model.keyed) == len(rows):
                return None
            key = f"k{self.number}"
            name = _partition_of(key, base.partition_columns)
            _stage(kernel, transaction, {name: [*parts.get(name, []), [key, *model.keyed[key]]]}, base)
            count(transaction, 1)
            return transaction.commit()
        finally:
            transaction.abort()
