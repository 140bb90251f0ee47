"""Earlier versions brought back, as the engine brings them back: see :mod:`lakemerge.engine.versions.restore`."""

from __future__ import annotations

from dataclasses import dataclass

from lakemerge.kernel import WHOLE_TABLE, Kernel, Manifest, Transaction, commits_of
from simulation.operations import Model, Operation, _content, _stage


@dataclass
class Restore(Operation):
    """The rows and the ledger of an earlier version, by a commit.

    Attributes:
        back: how many commits lie between that version and the newest one when it begins.
        target: the transaction of that version.
    """

    back: int = 1
    target: str = ""

    def apply(self, model: Model) -> None:
        then = model.past[self.target].copy()
        model.keyed, model.tombstones, model.truncated = then.keyed, then.tombstones, then.truncated
        model.facts = then.facts

    def attempt(self, kernel: Kernel) -> int | None:
        if not self.target:
            commits = [one.txn for one in commits_of(kernel, self.table)]
            if not commits:
                return None
            self.target = commits[min(self.back, len(commits) - 1)]
        transaction = self.began(kernel.begin(self.table, "restore"))
        try:
            transaction.read()
            transaction.read_side_data("ledger")
            base = transaction.base
            assert base is not None
            target = kernel.manifest(kernel.open(self.table), self.target)
            if target.partition_columns != base.partition_columns:
                return None  # which is refused
            if not self._bring_back(kernel, transaction, base, target):
                return None
            transaction.properties = dict(target.properties)
            return transaction.commit()
        finally:
            transaction.abort()

    @staticmethod
    def _bring_back(kernel: Kernel, transaction: Transaction, base: Manifest, target: Manifest) -> bool:
        """Stage what differs; whether anything does."""
        names = base.partitions.keys() | target.partitions.keys()
        differ = {name for name in names if base.partitions.get(name) != target.partitions.get(name)}
        rows = {name: _content(kernel, transaction.layout, target, name) for name in differ}
        ledgers = [one.sidecars.get("ledger", ()) for one in (base, target)]
        if differ:
            _stage(kernel, transaction, {name: found for name, found in rows.items() if found}, base)
            transaction.remove({name for name in differ if not rows[name] and name != WHOLE_TABLE})
        if ledgers[0] != ledgers[1]:
            transaction.set_sidecars("ledger", map(transaction.layout.absolute, ledgers[1]))
        return bool(differ) or ledgers[0] != ledgers[1]
