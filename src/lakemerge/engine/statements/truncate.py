"""TRUNCATE TABLE."""

from __future__ import annotations

from lakemerge.engine.merge_on_read.write_modes import WriteModes
from lakemerge.engine.publish.driver import Counts
from lakemerge.engine.publish.node_transaction import NodeTransaction
from lakemerge.engine.spark.scala import kind_of, mapping
from lakemerge.engine.statements.conditions import equal_to
from lakemerge.engine.statements.delete_update import Delete


class Truncate(Delete):
    """Removes all rows, or those of some partitions, and reads none of them."""

    operation = "truncate"

    def begin(self) -> NodeTransaction:
        # no delta can delete all rows
        if not self._partition and self.publisher.has_view:
            WriteModes(self.publisher, self.macros).remove_overlay()
        return super().begin()

    def attempt(self, txn: NodeTransaction) -> Counts:
        if self._partition or txn.is_staged:
            return self.delete(txn, self.plans().expression(equal_to(self._partition)))
        before = txn.rows_before
        txn.kernel_transaction.replace_all()
        txn.kernel_transaction.add_staged()
        counts = {} if before is None else {"deleted": before}
        txn.commit(counts, {"rows": 0})
        return counts

    @property
    def _partition(self) -> dict[str, str | None]:
        """The values that PARTITION gives, by column; none for the whole table."""
        plan = self.statement.plan
        if kind_of(plan) != "TruncatePartition":
            return {}
        found = mapping(plan.partitionSpec().spec())
        return {name: None if value is None else str(value) for name, value in found.items()}
