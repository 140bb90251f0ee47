"""The driver of dbt's delete+insert."""

from __future__ import annotations

from lakemerge.engine.merge.change_driver import plan_merge
from lakemerge.engine.merge.merge_options import DeleteInsertConfig
from lakemerge.engine.publish.driver import Counts, Driver
from lakemerge.engine.publish.node_transaction import NodeTransaction
from lakemerge.engine.publish.strategies import materialize_feed, replace_rows


class DeleteInsert(Driver[DeleteInsertConfig]):
    """Deletes the stored rows that have a key of the feed, and inserts all rows of the feed, in one commit.

    Where the feed shows which partitions its keys are in, only those are read.
    """

    operation = "delete+insert"

    def attempt(self, txn: NodeTransaction) -> Counts:
        plan = plan_merge(self.config, txn)
        feed = materialize_feed(self, txn)
        scanned = feed.partitions if plan.partition_known else None
        txn.read(scanned)
        rows_sql = self.macros.lakemerge_rows_by_keys_sql
        gone = rows_sql(txn, plan, scanned, "left semi") if txn.exists else None
        return replace_rows(self, txn, feed, gone, rows_sql(txn, plan, None, "left anti"))
