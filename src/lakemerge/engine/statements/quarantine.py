"""DELETE FROM a quarantine: side data of the table that an ingest writes, so it is a commit of that table."""

from __future__ import annotations

from lakemerge.engine.publish.driver import Counts
from lakemerge.engine.publish.node_transaction import NodeTransaction
from lakemerge.engine.publish.quarantine import clear_quarantine, quarantined, replace_quarantine
from lakemerge.engine.statements.plans import require_deterministic
from lakemerge.engine.statements.row_changes import RowChanges

_RECORDS, _LEFT = "lakemerge_quarantined", "lakemerge_left"


class QuarantineDelete(RowChanges):
    """Removes records from quarantine."""

    operation = "delete"

    def attempt(self, txn: NodeTransaction) -> Counts:
        plans = self.plans()
        txn.side_data.read("quarantine", None)
        self.show(_RECORDS, quarantined(txn))
        rows = self.rows_of(plans, txn, rows=plans.table(self.pass_on(_RECORDS)))
        condition = self.statement.condition or plans.expression("true")
        met, left = plans.frames(
            plans.filtered(rows, condition), plans.filtered(rows, plans.fails(condition))
        )
        require_deterministic(met, "DELETE")
        deleted = met.count()
        if not deleted:
            txn.skip()
            return {"deleted": 0}
        if kept := left.count():
            self.show(_LEFT, left)
            replace_quarantine(txn, f"select * from {_LEFT}", kept)
        else:
            clear_quarantine(txn)
        txn.commit({"deleted": deleted}, txn.base.properties if txn.base else {})
        return {"deleted": deleted}
