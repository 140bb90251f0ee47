"""The driver of dbt's snapshots."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lakemerge.engine.history.history_options import SnapshotConfig
from lakemerge.engine.history.snapshots import SnapshotPlan
from lakemerge.engine.layout.joins import may_broadcast
from lakemerge.engine.merge.checks import key_list
from lakemerge.engine.publish.driver import Counts, Driver
from lakemerge.engine.publish.node_transaction import NodeTransaction
from lakemerge.errors import DuplicateKey, InvalidConfig, NullKey


class Snapshot(Driver[SnapshotConfig]):
    """Merges the source's present state, which is the feed, into the history of its keys."""

    operation = "snapshot"

    def attempt(self, txn: NodeTransaction) -> Counts:
        # checked in every attempt, because another run may have created the table or added columns
        strategy = self.macros.lakemerge_snapshot_strategy(txn.exists)
        run_time = self.macros.snapshot_get_time()
        snapshot = SnapshotPlan.make(txn, strategy, run_time, self.config.history)
        if not txn.exists:
            return self._begin_history(txn, snapshot, strategy)
        txn.read(snapshot.reads)
        # a key without a current row depends on every partition, also on ones that do not exist yet
        txn.follow_same_rows()
        self._check_adopted(txn, snapshot)
        return self._continue_history(txn, snapshot, strategy)

    def _begin_history(
        self, txn: NodeTransaction, snapshot: SnapshotPlan, strategy: Mapping[str, Any]
    ) -> Counts:
        """Write the source's rows as the first versions of their keys, and check the keys while writing."""
        observed = self.queries.observe_view(
            "lakemerge_changes",
            self.macros.lakemerge_first_changes_sql(snapshot, strategy),
            self.macros.lakemerge_snapshot_metrics(),
        )
        txn.stage(self.macros.lakemerge_first_versions_sql(snapshot), count=False)
        found = observed.get
        self._check(snapshot, found)
        counts = {"inserted": found["inserted"], "updated": 0, "deleted": 0}
        txn.commit(counts, snapshot.properties(counts["inserted"], 0))
        return counts

    def _continue_history(
        self, txn: NodeTransaction, snapshot: SnapshotPlan, strategy: Mapping[str, Any]
    ) -> Counts:
        """Write and commit what a snapshot changes, if it changes anything."""
        changes = self._compute_changes(txn, snapshot, strategy)
        counts = {name: changes[name] for name in ("inserted", "updated", "deleted")}
        changed = sum(counts.values())
        if not changed and not txn.changes_schema:
            txn.skip()
            return counts
        if changed or txn.rewrites_all:
            self._stage(txn, snapshot, strategy, changes, changed)
        added = counts["inserted"] + counts["updated"] + (counts["deleted"] if snapshot.marks_deletes else 0)
        ended = 0 if snapshot.marks_deletes else counts["deleted"]
        before = txn.rows_before
        txn.commit(counts, snapshot.properties(None if before is None else before + added, ended))
        return counts

    def _compute_changes(
        self, txn: NodeTransaction, snapshot: SnapshotPlan, strategy: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Compute ``lakemerge_changes`` once; returns its counts, and the partitions of the rows that it closes."""
        changes = self.queries.materialize(
            "lakemerge_changes",
            self.macros.lakemerge_snapshot_changes_sql(txn, snapshot, strategy),
            self.macros.lakemerge_snapshot_metrics(snapshot),
        )
        self._check(snapshot, changes)
        return changes

    def _stage(
        self,
        txn: NodeTransaction,
        snapshot: SnapshotPlan,
        strategy: Mapping[str, Any],
        changes: Mapping[str, Any],
        changed: int,
    ) -> None:
        """Rewrite the partitions of rows that end or begin, and merge small partitions of closed rows."""
        opened = self._compute_versions(txn, snapshot, strategy, changes)
        names = txn.partitions.names_of([*changes["partitions"], *opened])
        touched = names + snapshot.layout.to_merge(names)
        if txn.rewrites_all:
            touched += txn.partitions.stored
        txn.read(touched)
        sql = self.macros.lakemerge_snapshot_rows_sql(
            txn, snapshot, strategy, touched, may_broadcast(changed)
        )
        txn.stage(sql, touched, count=False)

    def _compute_versions(
        self,
        txn: NodeTransaction,
        snapshot: SnapshotPlan,
        strategy: Mapping[str, Any],
        changes: Mapping[str, Any],
    ) -> list[str]:
        """Compute ``lakemerge_versions`` once, the rows of the changed keys; returns their partitions."""
        macros, queries = self.macros, self.queries
        with_ended = snapshot.may_have_ended and changes["inserted"] > 0
        few = may_broadcast(changes["inserted"])
        if with_ended:
            sql = macros.lakemerge_ended_rows_sql(txn, snapshot, strategy, few)
            queries.materialize("lakemerge_ended", sql, {"keys": "count(*)"})
        queries.define_view("lakemerge_timed", macros.lakemerge_timed_changes_sql(snapshot, with_ended, few))
        versions = queries.materialize(
            "lakemerge_versions",
            macros.lakemerge_versions_sql(snapshot),
            {"partitions": f"collect_set({macros.lakemerge_partition_sql(snapshot.partitions)})"},
        )
        return list(versions["partitions"])

    # -- checks --------------------------------------------------------------------------------

    def _check(self, snapshot: SnapshotPlan, counts: Mapping[str, Any]) -> None:
        """Refuse an ambiguous source or table: null keys, and keys with several rows."""
        key = snapshot.unique_key
        if counts["null_keys"]:
            raise NullKey(
                expected=f"a value in every part of the unique_key ({key})",
                found=f"{counts['null_keys']} rows of the source without one",
                action=f"Filter them out in the query, or fix the source. {self._such_as(snapshot, 'null key')}",
            )
        if counts["duplicates"]:
            raise DuplicateKey(
                expected=f"one row for each key ({key}) in the source of a snapshot",
                found=f"{counts['duplicates']} rows that share theirs with others",
                action="Let the query select one row for each key. If the rows are changes or versions of a key, keep "
                "their history in an incremental merge (stored_as_scd_type: 2). "
                f"{self._such_as(snapshot, 'duplicate')}",
            )
        if counts["several_current"]:
            raise DuplicateKey(
                expected=f"one current row for each key ({key}) in {snapshot.table}",
                found=f"{counts['several_current']} rows of keys that have several",
                action="The table already had them: close or remove all but one of each key. "
                f"{self._such_as(snapshot, 'several current')}",
            )

    def _such_as(self, snapshot: SnapshotPlan, action: str) -> str:
        """Up to five keys of ``lakemerge_changes`` with an action, as text for an error."""
        keys = self.macros.lakemerge_snapshot_keys_sql(snapshot)
        rows = self.queries.rows(
            f"select distinct {keys} from lakemerge_changes where _lakemerge_action = '{action}' limit 5"
        )
        return f"For instance: {key_list(rows)}."

    def _check_adopted(self, txn: NodeTransaction, snapshot: SnapshotPlan) -> None:
        """Refuse a table that this snapshot did not write, if its current rows seem to have another `dbt_valid_to`.

        Otherwise every key would get a second current row.
        """
        if not snapshot.is_adopted:
            return
        found = self.queries.rows(self.macros.lakemerge_open_ends_sql(txn, snapshot))[0]
        if found["is_open"]:
            present = f", or {snapshot.valid_to_current}" if snapshot.current_values else ""
            raise InvalidConfig(
                expected=f"dbt_valid_to of the current rows of {snapshot.table} to be null{present}",
                found=f"{found['latest_end']}, which lies in the future",
                action="Set dbt_valid_to_current to the value that the current rows of this table have.",
            )
