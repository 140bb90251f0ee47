"""DELETE that leaves nothing of the rows behind in the version that it makes."""

from __future__ import annotations

from typing import Any

from lakemerge.engine.merge.ledger import LEDGER, open_ledger
from lakemerge.engine.publish.driver import Counts
from lakemerge.engine.publish.node_transaction import NodeTransaction
from lakemerge.engine.sql_text import quote
from lakemerge.engine.statements.delete_update import Delete
from lakemerge.engine.statements.histories import FORGOTTEN

_MET = "lakemerge_met"


class EraseVersions(Delete):
    """Forgets each key of a history of which some version, or some change that the ledger remembers, meets a condition.

    The condition reads columns that come from the feed, because a change has no bounds.
    """

    forgets = True

    def attempt(self, txn: NodeTransaction) -> Counts:
        plans, history = self.plans(), self._history_plan(txn)
        assert history is not None
        txn.read()
        txn.side_data.read(LEDGER, None)
        known = open_ledger(
            txn, history.ledger_type, self.config.tombstone_retention, history.types_in_ledger
        )
        condition = self.statement.condition or plans.expression("true")
        keys = [quote(key.name) for key in history.keys]
        sources: list[Any] = [None]
        if known is not None:
            remembered = self.queries.spark.table("lakemerge_ledger").where("__row is not null")
            remembered.selectExpr("__row.*").createOrReplaceTempView("lakemerge_remembered")
            sources.append(plans.table(self.pass_on("lakemerge_remembered")))
        parts = []
        for number, rows in enumerate(sources):
            met = plans.filtered(self.rows_of(plans, txn, rows=rows), condition)
            self.show(f"{_MET}_{number}", plans.frame(plans.selected(met, keys)))
            parts.append(f"select * from {_MET}_{number}")
        named = ", ".join(f"__met.{key} as __key_{number}" for number, key in enumerate(keys, 1))
        sql = f"select distinct {named} from ({' union all '.join(parts)}) as __met"
        self.queries.materialize(FORGOTTEN, sql, {"row_count": "count(*)"})
        shown = self.pass_on(FORGOTTEN)
        numbers = ", ".join(f"__key_{number}" for number, _ in enumerate(keys, 1))
        return self.delete(txn, plans.expression(f"({', '.join(keys)}) in (select {numbers} from {shown})"))

    def has_more(self, txn: NodeTransaction) -> bool:
        if not txn.side_data.folders(LEDGER):
            return False
        plan: Any = self._history_plan(txn)
        same = " and ".join(f"known.__key_{n} = met.__key_{n}" for n, _ in enumerate(plan.keys, 1))
        sql = (
            f"select 1 from lakemerge_ledger as known left semi join {FORGOTTEN} as met on {same} "
            "where known.__row is not null limit 1"
        )
        return bool(self.queries.rows(sql))
