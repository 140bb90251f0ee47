"""Merge on read: a merge writes its changes beside the base, and readers merge them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dbt.adapters.lakemerge.merge.driver import Merge, Staged, scans_known_partitions
from dbt.adapters.lakemerge.merge.ledger import LEDGER
from dbt.adapters.lakemerge.merge.plan import MergePlan
from dbt.adapters.lakemerge.publish.after_commit import told_only
from dbt.adapters.lakemerge.publish.deltas import Deltas, compacts_now
from dbt.adapters.lakemerge.publish.joins import Amount
from dbt.adapters.lakemerge.publish.node_transaction import NodeTransaction
from dbt.adapters.lakemerge.publish.write_modes import WriteModes

from lakemerge.kernel import DELTAS, FOLDED, Manifest, retire_unread

# What of `write_mode: auto`: partitions of so many bytes together, and so many times the changes, are not rewritten.
_LEAST_BYTES = 64 * 1024 * 1024
_TIMES_DEARER = 10
# Of a table whose number of rows was never known.
_BYTES_OF_ROW = 100
# The property that tells it; a text, which commits that follow on each other do not add up.
_WIDTH = "bytes_of_row"


class MergeOnRead(Merge):
    """A merge whose commit adds one delta. On a table that has no view yet, or no more, it rewrites partitions."""

    # of the newest attempt, where the config leaves the choice
    _is_costly = False

    @property
    def remarks(self) -> tuple[str, ...]:
        if self.config.write_mode != "auto":
            return ()
        return ("merge_on_read" if self._is_costly else "copy_on_write",)

    def properties(
        self, txn: NodeTransaction, plan: MergePlan, feed: Mapping[str, Any], staged: Staged
    ) -> dict[str, Any]:
        width = bytes_of_row(txn.base)
        found = super().properties(txn, plan, feed, staged)
        return found if width is None else {**found, _WIDTH: f"{width:.3f}"}

    def tidy(self) -> None:
        deltas = Deltas(self.publisher, self.macros)
        with told_only(
            self.publisher.name,
            "its deltas stay beside the base",
            "The next run or lakemerge_compact moves them.",
        ):
            if self.config.write_mode == "auto" and not self._is_costly:
                deltas.move_into_base()
            elif compacts_now(self.config, self.macros):
                deltas.compact_when_due(self.config.compact_deltas, self.config.compact_deltas_percent)

    def stage(self, txn: NodeTransaction, plan: MergePlan, feed: Mapping[str, Any]) -> Staged:
        if self.config.write_mode == "auto":
            self._is_costly = is_costly(txn, plan, feed)
            if self._is_costly and txn.overlay is None and txn.exists and self._fits_delta(txn, feed):
                txn.abort()
                WriteModes(self.publisher, self.macros).add_overlay(self.config.unique_key)
                raise txn.begun_anew(
                    "that the changes cost less beside the table, which is merged on read now"
                )
        if txn.overlay is None:
            return super().stage(txn, plan, feed)
        if not self._fits_delta(txn, feed):
            txn.abort()
            WriteModes(self.publisher, self.macros).remove_overlay()
            reason = "the feed has a truncate" if feed["truncates"] else "the columns change"
            raise txn.begun_anew(f"that {reason}, so the deltas were moved into the base")
        scanned = txn.partitions.names_of(feed["partitions"]) if scans_known_partitions(plan, feed) else None
        txn.kernel_transaction.let_rows_move()
        txn.read(scanned)
        txn.side_data.read(DELTAS, scanned)
        if plan.sequence:
            txn.side_data.read(LEDGER, scanned)
        if self._needs_no_match(plan, feed):
            return self._stage_unmatched_delta(txn, plan, feed)
        txn.kernel_transaction.read_side_data(FOLDED)
        ledger = self._open_ledger(txn, plan)
        resolved = self._resolve(txn, plan, feed, scanned, ledger)
        return self._stage_resolved(txn, plan, feed, resolved, ledger)

    @staticmethod
    def _fits_delta(txn: NodeTransaction, feed: Mapping[str, Any]) -> bool:
        """Whether the changes can be a delta, which holds rows by their keys, in the columns of the base."""
        return not (feed["truncates"] or txn.changes_schema)

    def _needs_no_match(self, plan: MergePlan, feed: Mapping[str, Any]) -> bool:
        """Whether each change counts, whatever is stored: whole rows that are newer than all that the table has met."""
        newest = not plan.sequence or plan.is_above_all_known(feed.get("min_sequence"))
        return newest and not plan.partial and not self.config.exact_counts

    def _stage_unmatched_delta(
        self, txn: NodeTransaction, plan: MergePlan, feed: Mapping[str, Any]
    ) -> Staged:
        if not feed["keys"]:
            return Staged(txn.changes_description, {"upserted": 0, "deleted": 0})
        self.queries.define_view("lakemerge_resolved", self.macros.lakemerge_unmatched_changes_sql(plan))
        self._stage_delta(txn, plan)
        if plan.sequence and (feed["deletes"] or plan.keeps_live_sequences):
            self._stage_ledger(txn, plan)
        return Staged(True, {"upserted": feed["keys"] - feed["deletes"], "deleted": feed["deletes"]})

    def _stage_rows(
        self,
        txn: NodeTransaction,
        plan: MergePlan,
        feed: Mapping[str, Any],
        resolved: Mapping[str, Any],
        absent: list[str],
        ledger: Amount | None,
    ) -> None:
        if txn.overlay is None:
            super()._stage_rows(txn, plan, feed, resolved, absent, ledger)
        else:
            self._stage_delta(txn, plan)

    def _stage_delta(self, txn: NodeTransaction, plan: MergePlan) -> None:
        """Write the changed rows beside the base."""
        txn.stage_delta(self.macros.lakemerge_delta_rows_sql(plan, txn.next_version))
        retire_unread(txn.kernel_transaction)


def is_costly(txn: NodeTransaction, plan: MergePlan, feed: Mapping[str, Any]) -> bool:
    """Whether to rewrite the partitions of a feed's keys costs much more than to write the changes beside them.

    The bytes of the partitions that the feed names are compared with those of as many rows as it has keys.
    """
    base = txn.base
    if base is None or not base.total_bytes:
        return False
    stored = base.partitions
    names = list(stored)
    if scans_known_partitions(plan, feed):
        names = txn.partitions.names_of(feed["partitions"])
    elif plan.partitions and "live_partitions" in feed:
        names = txn.partitions.names_of(feed["live_partitions"])
    touched = sum(stored[name].bytes for name in names if name in stored)
    width = bytes_of_row(base) or _BYTES_OF_ROW
    return touched >= _LEAST_BYTES and touched > _TIMES_DEARER * width * int(feed["keys"])


def bytes_of_row(base: Manifest | None) -> float | None:
    """How many bytes a stored row of a version takes, as far as it or one before tells.

    Without matching, a delta leaves the number of rows unknown; with it, the number is that of rows which the base does
    not have yet. So that of the base before the first delta is kept.
    """
    if base is None:
        return None
    rows = base.properties.get("rows")
    if rows and base.total_bytes and not base.sidecars.get(DELTAS):
        return float(base.total_bytes) / int(rows)
    kept = base.properties.get(_WIDTH)
    return float(kept) if kept else None
