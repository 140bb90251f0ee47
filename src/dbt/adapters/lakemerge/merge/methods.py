"""The adapter's methods for merges from a change feed."""

from __future__ import annotations

import dataclasses

from dbt.adapters.base import available
from dbt.adapters.lakemerge.merge.ledger import LEDGER, commit_purpose, reset_ledger
from dbt.adapters.lakemerge.merge.plan import MergePlan
from dbt.adapters.lakemerge.publish.commit_methods import TYPED_FEED, PublishingMethods
from dbt.adapters.lakemerge.publish.node_transaction import NodeTransaction
from dbt.adapters.lakemerge.relation import LakemergeRelation


class MergeMethods(PublishingMethods):
    """A mixin of the adapter; see the macros in ``merge`` and ``ledger``."""

    @available.parse_none
    def merge_plan(self, transaction: NodeTransaction) -> MergePlan:
        """How the feed meets the table. Raises LedgerMismatch."""
        with self._schema_errors():
            feed = self.handle.spark.table(TYPED_FEED)
            plan = MergePlan.make(
                transaction.config, transaction.plan, feed, transaction.base, transaction.table
            )
            return dataclasses.replace(plan, ledger=commit_purpose(transaction, plan.ledger))

    @available.parse(lambda *args, **kwargs: False)
    def open_ledger(self, transaction: NodeTransaction, schema: str) -> bool:
        """Make the view ``lakemerge_ledger`` of the sequences and tombstones kept; false if there are none.

        Args:
            schema: the ledger's columns as DDL.
        """
        folders = transaction.side_data(LEDGER)
        if not folders:
            return False
        seconds = int(transaction.config.tombstone_retention.total_seconds())
        past = f"__recorded_at < current_timestamp() - interval {seconds} seconds"
        expired = f"__kind not in ('truncate', 'live') and {past} as __is_expired"
        with self.connections.exception_handler(f"read the ledger of {transaction.table}"):
            frame = self.handle.spark.read.schema(schema).orc(folders).selectExpr("*", expired)
            frame.where("__kind <> 'delete' or not __is_expired").createOrReplaceTempView("lakemerge_ledger")
        return True

    @available.parse(lambda *args, **kwargs: 0)
    def reset_ledger(self, relation: LakemergeRelation, keep: bool = False) -> int:
        """Forget a table's ledger, or (``keep``) only what it is for; returns the version made, 0 for none."""
        with self._guarded():
            name = relation.table_name
            return reset_ledger(self._kernel({}, None), name, keep=keep)
