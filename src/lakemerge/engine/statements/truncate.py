"""TRUNCATE TABLE."""

from __future__ import annotations

from lakemerge.engine.merge_on_read.write_modes import WriteModes
from lakemerge.engine.publish.driver import Counts
from lakemerge.engine.publish.node_transaction import NodeTransaction
from lakemerge.engine.relations.table_schema import plan_same
from lakemerge.engine.sql_text import literal, quote
from lakemerge.engine.statements.delete_update import Delete
from lakemerge.engine.statements.scala import each, kind_of


class Truncate(Delete):
    """Removes all rows, or those of some partitions, and reads none of them."""

    operation = "truncate"

    def begin(self) -> NodeTransaction:
        # no delta can delete all rows
        if not self._partition and self.publisher.has_view:
            WriteModes(self.publisher, self.macros).remove_overlay()
        return self.publisher.begin_alteration(self.operation, plan_same)

    def attempt(self, txn: NodeTransaction) -> Counts:
        if self._partition:
            return self.delete(txn, self.plans().expression(" and ".join(self._partition)))
        before = txn.rows_before
        txn.kernel_transaction.replace_all()
        txn.kernel_transaction.add_staged()
        counts = {} if before is None else {"deleted": before}
        txn.commit(counts, {"rows": 0})
        return counts

    @property
    def _partition(self) -> list[str]:
        """SQL that is true in the partitions that the statement names; nothing for the whole table."""
        plan = self.statement.plan
        if kind_of(plan) != "TruncatePartition":
            return []
        spec = plan.partitionSpec().spec()
        parts = []
        for pair in each(spec.toSeq()):
            value = pair._2()
            parts.append(f"{quote(str(pair._1()))} <=> {'null' if value is None else literal(str(value))}")
        return parts
