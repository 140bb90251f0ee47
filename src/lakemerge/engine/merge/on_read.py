"""Merge on read: a merge writes its changes beside the base, and readers merge them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lakemerge.engine.layout.joins import Amount
from lakemerge.engine.merge.change_driver import Merge, Staged, scans_known_partitions
from lakemerge.engine.merge.ledger import LEDGER
from lakemerge.engine.merge.merge_plan import MergePlan
from lakemerge.engine.merge_on_read.after_commit import told_only
from lakemerge.engine.merge_on_read.bounds import Bounds
from lakemerge.engine.merge_on_read.deltas import Deltas, compacts_now
from lakemerge.engine.merge_on_read.write_modes import WriteModes
from lakemerge.engine.publish.node_transaction import NodeTransaction
from lakemerge.kernel import DELTAS, FOLDED, Manifest, retire_unread

# With `write_mode: auto`, partitions are not rewritten that have at least this many bytes together, and more than this
# many times the bytes of the changes.
_LEAST_BYTES = 64 * 1024 * 1024
_TIMES_DEARER = 10
# The bytes of a row in a table whose number of rows was never known.
_BYTES_OF_ROW = 100
# The property that records the bytes of a row. It is a text, because commits that follow each other add up numbers.
_WIDTH = "bytes_of_row"


class MergeOnRead(Merge):
    """A merge whose commit adds one delta. On a table that has no view, yet or any more, it rewrites partitions."""

    # what the newest attempt does with its changes, where the config leaves the choice; empty if there are none
    _choice = ""
    # the partitions that a rewrite would take
    _touched: Sequence[str] = ()
    # where its delta is moved right after the commit, if it is not worth keeping beside the base
    _moved: Bounds | None = None

    @property
    def remarks(self) -> tuple[str, ...]:
        return (self._choice,) if self._choice else ()

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
            if self._moved is not None:
                deltas.compact("major", "auto", self._moved)
            if compacts_now(self.config, self.macros):
                deltas.compact_when_due()

    def stage(self, txn: NodeTransaction, plan: MergePlan, feed: Mapping[str, Any]) -> Staged:
        fits = not (feed["truncates"] or txn.changes_schema)
        if self.config.write_mode == "auto":
            self._choose(txn, plan, feed, fits)
        if txn.overlay is None:
            return super().stage(txn, plan, feed)
        if not fits:
            txn.abort()
            WriteModes(self.publisher, self.macros).remove_overlay()
            reason = "the feed has a truncate" if feed["truncates"] else "the columns change"
            raise txn.restarted(f"that {reason}, so the deltas were moved into the base")
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

    def _choose(self, txn: NodeTransaction, plan: MergePlan, feed: Mapping[str, Any], fits: bool) -> None:
        """Decide what `write_mode: auto` does with the changes.

        Args:
            fits: whether they can be a delta.

        Raises:
            CommitConflict: they are to be a delta, and the table has a view from now on: the next attempt adds the
                delta.
        """
        self._moved = None
        if not (feed["keys"] or feed["truncates"] or txn.changes_schema):
            self._choice = ""
            return
        self._touched = _touched_by(txn, plan, feed)
        # a delta that this run may not move stays
        stays = txn.overlay is not None and not compacts_now(self.config, self.macros)
        beside = fits and (stays or is_costly(txn.base, self._touched, int(feed["keys"])))
        self._choice = "merge_on_read" if beside else "copy_on_write"
        if beside and txn.overlay is None and txn.exists:
            txn.abort()
            WriteModes(self.publisher, self.macros).add_overlay(self.config.unique_key)
            raise txn.restarted("that the changes cost less beside the table, which is merged on read now")

    def _needs_no_match(self, plan: MergePlan, feed: Mapping[str, Any]) -> bool:
        """Whether each change takes effect, whatever is stored: whole rows, newer than all that the table has met."""
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
        if self._choice == "copy_on_write":
            every = txn.partitions.are_all(self._touched)
            self._moved = Bounds() if every else Bounds(names=frozenset(self._touched))


def _touched_by(txn: NodeTransaction, plan: MergePlan, feed: Mapping[str, Any]) -> list[str]:
    """The partitions that a rewrite for a feed would take, as far as the feed names them; all where it names none."""
    if scans_known_partitions(plan, feed):
        return txn.partitions.names_of(feed["partitions"])
    if plan.partitions and feed.get("live_partitions"):
        return txn.partitions.names_of(feed["live_partitions"])
    return txn.partitions.stored


def is_costly(base: Manifest | None, touched: Iterable[str], keys: int) -> bool:
    """Whether rewriting partitions costs much more than writing this many rows beside them."""
    if base is None or not base.total_bytes:
        return False
    size = sum(base.partitions[name].bytes for name in set(touched) if name in base.partitions)
    width = bytes_of_row(base) or _BYTES_OF_ROW
    return size >= _LEAST_BYTES and size > _TIMES_DEARER * width * keys


def bytes_of_row(base: Manifest | None) -> float | None:
    """How many bytes a stored row of a version takes, as far as this version or an earlier one shows it.

    A delta that was written without matching leaves the number of rows unknown. With matching, the number counts rows
    that the base does not have yet. So what the base showed before the first delta is kept.
    """
    if base is None:
        return None
    rows = base.properties.get("rows")
    if rows and base.total_bytes and not base.sidecars.get(DELTAS):
        return float(base.total_bytes) / int(rows)
    kept = base.properties.get(_WIDTH)
    return float(kept) if kept else None
