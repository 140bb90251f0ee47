"""The adapter's methods for merges that keep history."""

from __future__ import annotations

import dataclasses

from dbt.adapters.base import available
from dbt.adapters.lakemerge.history.plan import Scd2Plan
from dbt.adapters.lakemerge.merge.ledger import commit_purpose
from dbt.adapters.lakemerge.publish.commit_methods import TYPED_FEED, PublishingMethods
from dbt.adapters.lakemerge.publish.node_transaction import NodeTransaction


class HistoryMethods(PublishingMethods):
    """A mixin of the adapter; see the macros in ``scd2``."""

    @available.parse_none
    def scd2_plan(self, transaction: NodeTransaction) -> Scd2Plan:
        """How the feed meets the history. Raises LedgerMismatch."""
        with self._schema_errors():
            plan = Scd2Plan.make(
                transaction.config,
                transaction.plan,
                self.handle.spark.table(TYPED_FEED),
                transaction.base,
                transaction.table,
                transaction.next_version,
            )
            ledger = commit_purpose(transaction, plan.merge.ledger)
            return dataclasses.replace(plan, merge=dataclasses.replace(plan.merge, ledger=ledger))
