"""The driver of merges that keep the history of each key (``stored_as_scd_type: 2``)."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lakemerge.engine.history.history_options import Scd2MergeConfig
from lakemerge.engine.history.scd2_plan import Scd2Plan
from lakemerge.engine.layout.joins import may_broadcast
from lakemerge.engine.merge.change_driver import ChangeDriver, Staged, change_files, scans_known_partitions
from lakemerge.engine.merge.checks import check_changes, key_list
from lakemerge.engine.merge.ledger import LEDGER, commit_purpose, open_ledger, write_ledger
from lakemerge.engine.merge.merge_plan import MergePlan
from lakemerge.engine.publish.feeds import TYPED_FEED
from lakemerge.engine.publish.node_transaction import NodeTransaction
from lakemerge.errors import AmbiguousChange

_COUNTS = ("inserted", "updated", "deleted", "ignored")


@dataclass(frozen=True)
class Scan:
    """Where stored versions of the feed's keys can be: names of partitions, and SQL that is true in them."""

    open_partitions: list[str]
    closed_partitions: list[str]
    open_filter: str
    closed_filter: str

    @classmethod
    def of(cls, txn: NodeTransaction, scd2: Scd2Plan, feed: Mapping[str, Any]) -> Scan:
        """All partitions, or only the feed's if a key's partition follows from its changes."""
        layout = scd2.layout
        if not scans_known_partitions(scd2.merge, feed):
            return cls(
                layout.open_partitions, layout.closed_partitions, layout.open_filter, layout.closed_filter
            )
        opened = txn.partitions.names_of(feed["open_partitions"])
        closed = layout.closed_siblings(opened)
        return cls(
            opened,
            closed,
            f"{txn.partitions.filter(opened)} and {layout.open_filter}",
            f"{txn.partitions.filter(closed)} and {layout.closed_filter}",
        )


class Scd2Merge(ChangeDriver[Scd2MergeConfig, Scd2Plan]):
    """Every change of a key is a version: a row with the sequences that it begins and ends with."""

    def plan(self, txn: NodeTransaction) -> Scd2Plan:
        feed = self.queries.spark.table(TYPED_FEED)
        plan = Scd2Plan.make(self.config, txn.plan, feed, txn.base, txn.table, txn.next_version)
        ledger = commit_purpose(txn, plan.merge.ledger)
        return dataclasses.replace(plan, merge=dataclasses.replace(plan.merge, ledger=ledger))

    def merge_of(self, plan: Scd2Plan) -> MergePlan:
        return plan.merge

    def compute_changes(self, plan: Scd2Plan) -> dict[str, Any]:
        sql, counts = self.macros.lakemerge_scd2_changes_sql(plan), self.macros.lakemerge_scd2_counts(plan)
        return self.queries.materialize("lakemerge_changes", sql, counts)

    def check(self, plan: Scd2Plan, feed: Mapping[str, Any]) -> None:
        check_changes(self, plan.merge, feed, "lakemerge_changes")

    def stage(self, txn: NodeTransaction, plan: Scd2Plan, feed: Mapping[str, Any]) -> Staged:
        """Follow on the rows that were read, whatever partition another commit changes.

        The outcome for a key depends on the ledger, and on open versions in partitions that another commit may be
        making.
        """
        scan = Scan.of(txn, plan, feed)
        txn.read(scan.open_partitions)
        txn.follow_same_rows()
        late = self._meets_closed_versions(plan, feed, scan)
        if late or feed["truncates"]:
            txn.read(scan.closed_partitions)
        has_ledger = bool(
            open_ledger(txn, plan.ledger_type, self.config.tombstone_retention, plan.types_in_ledger)
        )
        versions = self._compute_versions(plan, feed, scan, late, has_ledger)
        if versions["contradictions"] and self.config.on_sequence_tie == "error":
            raise self._contradiction(plan)
        counts = {name: versions[name] for name in _COUNTS}
        written = self._stage_rows(txn, plan, feed, versions)
        remembers = self._stage_ledger(txn, plan, feed, versions, has_ledger)
        before = txn.rows_before
        superseded = counts["updated"] if plan.bitemporal else -counts["deleted"]
        return Staged(
            written or remembers or txn.changes_description or not plan.exists,
            counts,
            None if before is None else before + counts["inserted"] + superseded,
        )

    def _meets_closed_versions(self, plan: Scd2Plan, feed: Mapping[str, Any], scan: Scan) -> bool:
        """Whether closed versions have to be read.

        Not if every change is newer than all changes that the table has seen; otherwise the late keys are computed (the
        view ``lakemerge_late``), from their open versions alone.
        """
        if not plan.exists or not scan.closed_partitions or feed["truncates"]:
            return False
        if plan.merge.is_above_all_known(feed.get("min_sequence")):
            return False
        sql = self.macros.lakemerge_scd2_late_keys_sql(plan, scan, may_broadcast(feed["keys"]))
        return bool(self.queries.materialize("lakemerge_late", sql, {"late": "count(*)"})["late"])

    def _compute_versions(
        self, plan: Scd2Plan, feed: Mapping[str, Any], scan: Scan, late: bool, has_ledger: bool
    ) -> dict[str, Any]:
        """Compute ``lakemerge_versions``, the actions on stored versions, once; returns counts and partitions."""
        macros, broadcast, truncates = self.macros, may_broadcast(feed["keys"]), feed["truncates"] > 0
        matched = remembered = None
        if plan.exists:
            matched = macros.lakemerge_scd2_matched_sql(plan, scan, broadcast, late, truncates)
        if has_ledger:
            remembered = macros.lakemerge_scd2_remembered_sql(plan, broadcast, truncates)
        sql = macros.lakemerge_scd2_versions_sql(plan, matched, remembered, has_ledger or truncates)
        counts = macros.lakemerge_scd2_version_counts(plan)
        return self.queries.materialize("lakemerge_versions", sql, counts)

    def _contradiction(self, plan: Scd2Plan) -> AmbiguousChange:
        """The error for changes that contradict a known change with the same key and sequence."""
        sql = f"select {self.macros.lakemerge_keys_sql(plan.merge)} from lakemerge_versions where __contradicts limit 5"
        return AmbiguousChange(
            expected="changes with the same key and sequence to have the same values",
            found=f"different values, for the keys {key_list(self.queries.rows(sql))}",
            action="Add a column to sequence_by that tells them apart, or set on_sequence_tie: any to keep the "
            "known change.",
        )

    def _stage_rows(
        self, txn: NodeTransaction, plan: Scd2Plan, feed: Mapping[str, Any], versions: Mapping[str, Any]
    ) -> bool:
        """Write the touched partitions: rewrite open ones, add newly closed rows; false if there are none."""
        changed = versions["inserted"] + versions["updated"] + versions["deleted"]
        if not (changed or txn.rewrites_all or not plan.exists):
            return False
        old = txn.partitions.names_of(versions["old_partitions"])
        touched = old + txn.partitions.names_of(versions["new_partitions"])
        if plan.bitemporal:
            touched += [plan.layout.closes_into(name) for name in old]
        if txn.rewrites_all:
            touched += txn.partitions.stored
        merged = plan.layout.to_merge(touched)
        txn.read(touched + merged)
        sql = self.macros.lakemerge_scd2_rows_sql(
            txn,
            plan,
            txn.partitions.filter(touched) if plan.exists else None,
            merged,
            may_broadcast(feed["keys"]),
            rebalance=txn.partitions.should_gather(touched + merged, self.config.target_file_size),
            change_files=change_files(feed),
        )
        txn.stage(sql, touched + merged, count=False)
        return True

    def _stage_ledger(
        self,
        txn: NodeTransaction,
        plan: Scd2Plan,
        feed: Mapping[str, Any],
        versions: Mapping[str, Any],
        has_ledger: bool,
    ) -> bool:
        """Write to the ledger what later changes need and the table does not show; false if nothing.

        Those are changes within a version, deletes that end none, and truncates. A ledger of many folders is rewritten.
        """
        new_truncates = feed["truncates"] and self.queries.rows(
            self.macros.lakemerge_scd2_new_truncates_sql(has_ledger)
        )
        if not versions["remembered"] and not new_truncates:
            return False
        rewrite = has_ledger and txn.side_data.has_many_folders(LEDGER)
        sql = self.macros.lakemerge_scd2_ledger_sql(plan, has_ledger, rewrite)
        assert plan.merge.ledger is not None
        write_ledger(txn, sql, plan.merge.ledger, anew=rewrite)
        return True
