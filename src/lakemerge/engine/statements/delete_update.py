"""DELETE and UPDATE."""

from __future__ import annotations

from typing import Any

from lakemerge.engine.publish.driver import Counts
from lakemerge.engine.publish.node_transaction import NodeTransaction
from lakemerge.engine.statements.assignments import Assigned, assignments_of, columns_of_values, new_values
from lakemerge.engine.statements.conditions import reach_of
from lakemerge.engine.statements.row_changes import RAW, Changes, RowChanges


class Delete(RowChanges):
    """Deletes the rows for which a condition is true."""

    operation = "delete"

    def attempt(self, txn: NodeTransaction) -> Counts:
        return self.delete(txn, self.statement.condition)

    def delete(self, txn: NodeTransaction, condition: Any) -> Counts:
        """Delete the rows for which a condition is true."""
        plans = self.plans()
        reach = reach_of(plans, condition, self.alias(plans, txn), txn.partitions)
        if reach.is_exact and not self.config.merge_keys and txn.partitions and not txn.overlay:
            return self._remove(txn, reach.names)
        self.read(txn, reach.names)
        self.split(plans, txn, reach.names, condition, ["*"], keeps=bool(self.config.merge_keys))
        found = self.resolve(txn, [Changes(RAW, "delete")], keeps=False)
        return self.stage(txn, found, checks=condition is not None and plans.has_subquery(condition))

    def _remove(self, txn: NodeTransaction, names: list[str]) -> Counts:
        """Delete whole partitions, of which no file is read: nobody knows how many rows they have."""
        self.read(txn, names)
        if not names:
            txn.skip()
            return {"deleted": 0}
        txn.remove(names)
        every = txn.partitions.are_all(names)
        before = txn.rows_before if every else None
        counts = {"partitions": len(names)} if before is None else {"deleted": before}
        txn.commit(counts, {**(dict(txn.base.properties) if txn.base else {}), "rows": 0 if every else None})
        return counts


class Update(RowChanges):
    """Gives columns other values in the rows for which a condition is true."""

    operation = "update"

    def attempt(self, txn: NodeTransaction) -> Counts:
        plans, condition = self.plans(), self.statement.condition
        assigned = self._assigned(txn)
        reach = reach_of(plans, condition, self.alias(plans, txn), txn.partitions)
        self.read(txn, reach.names)
        items = ["*", *columns_of_values(plans, assigned)]
        schema = self.split(plans, txn, reach.names, condition, items, keeps=True)
        values = new_values(self.session, txn.plan.columns, assigned, schema)
        found = self.resolve(txn, [Changes(RAW, "update", values)], keeps=True)
        self.read_targets(txn, reach.names, found)
        return self.stage(txn, found, checks=condition is not None and plans.has_subquery(condition))

    def _assigned(self, txn: NodeTransaction) -> list[Assigned]:
        columns = [column.name for column in txn.plan.columns]
        found = assignments_of(self.statement.assignments, self.qualifiers, columns, "__lakemerge_value_")
        self.require_assignable(txn, found)
        return found
