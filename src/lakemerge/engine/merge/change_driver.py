"""The driver of merges from a change feed: what a master and a history have in common, and the master's own."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from lakemerge.engine.layout.gathering import AS_READ, REBALANCE, Gathering, Part, by_tasks
from lakemerge.engine.layout.joins import (
    BROADCAST,
    ONE_TASK,
    Amount,
    choose_join,
    may_broadcast,
    planned,
)
from lakemerge.engine.merge.checks import (
    check_changes,
    check_sync,
    repeats_error,
)
from lakemerge.engine.merge.ledger import LEDGER, commit_purpose, open_ledger, write_ledger
from lakemerge.engine.merge.merge_options import MergeConfig
from lakemerge.engine.merge.merge_plan import MergePlan
from lakemerge.engine.publish.driver import Counts, Driver
from lakemerge.engine.publish.feeds import TYPED_FEED
from lakemerge.engine.publish.node_transaction import NodeTransaction

M = TypeVar("M", bound=MergeConfig)
P = TypeVar("P")

# This many changes may make one more file in each partition, where they are not gathered.
_CHANGES_OF_FILE = 1_000_000


@dataclass(frozen=True)
class Staged:
    """What an attempt has staged.

    Attributes:
        writes: whether there is anything to commit.
        counts: for the result line and the manifest.
        rows: the number of rows after the commit, where it is known.
    """

    writes: bool
    counts: Counts
    rows: int | None = None


class ChangeDriver(Driver[M], Generic[M, P]):
    """Merges a feed of changes, each with a key and most with a sequence; by options ``M`` and a plan ``P``."""

    operation = "merge"

    def attempt(self, txn: NodeTransaction) -> Counts:
        plan = self.plan(txn)
        feed = self.compute_changes(plan)
        self.check(plan, feed)
        staged = self.stage(txn, plan, feed)
        if staged.writes:
            txn.commit(staged.counts, self.properties(txn, plan, feed, staged))
        else:
            txn.skip()
        return staged.counts

    def properties(
        self, txn: NodeTransaction, plan: P, feed: Mapping[str, Any], staged: Staged
    ) -> dict[str, Any]:
        """What the commit records for later ones."""
        return merge_properties(self.merge_of(plan), feed, staged.rows)

    @abstractmethod
    def plan(self, txn: NodeTransaction) -> P:
        """How the feed meets the table. Raises LedgerMismatch."""

    @abstractmethod
    def merge_of(self, plan: P) -> MergePlan:
        """The feed's part of the plan: keys, columns, the sequence."""

    @abstractmethod
    def compute_changes(self, plan: P) -> dict[str, Any]:
        """Compute the feed's changes once; returns what was counted."""

    @abstractmethod
    def check(self, plan: P, feed: Mapping[str, Any]) -> None:
        """Refuse a feed whose merge has more than one possible result, before anything is written."""

    @abstractmethod
    def stage(self, txn: NodeTransaction, plan: P, feed: Mapping[str, Any]) -> Staged:
        """Work out what the changes do to the table and stage it."""


class Merge(ChangeDriver[MergeConfig, MergePlan]):
    """The newest change of each key takes the place of its row: a master, or SCD type 1."""

    def plan(self, txn: NodeTransaction) -> MergePlan:
        return plan_merge(self.config, txn)

    def merge_of(self, plan: MergePlan) -> MergePlan:
        return plan

    def compute_changes(self, plan: MergePlan) -> dict[str, Any]:
        sql, counts = (
            self.macros.lakemerge_latest_changes_sql(plan),
            self.macros.lakemerge_latest_counts(plan),
        )
        return self.queries.materialize("lakemerge_latest", sql, counts)

    def check(self, plan: MergePlan, feed: Mapping[str, Any]) -> None:
        check_changes(self, plan, feed, "lakemerge_latest")
        check_sync(self.config, plan, feed)

    def stage(self, txn: NodeTransaction, plan: MergePlan, feed: Mapping[str, Any]) -> Staged:
        """Stage in the cheapest way that gives the right result."""
        scanned = txn.partitions.names_of(feed["partitions"]) if scans_known_partitions(plan, feed) else None
        txn.read(scanned)
        if plan.sequence:
            txn.side_data.read(LEDGER, scanned)
        if can_skip_match(plan, txn, feed):
            touched = self._find_partitions(txn, plan, feed) if scanned is None else scanned
            return self._stage_without_match(txn, plan, feed, touched)
        ledger = self._open_ledger(txn, plan)
        resolved = self._resolve(txn, plan, feed, scanned, ledger)
        return self._stage_resolved(txn, plan, feed, resolved, ledger)

    # -- changes that all are newer than what is stored ----------------------------------------

    def _find_partitions(self, txn: NodeTransaction, plan: MergePlan, feed: Mapping[str, Any]) -> list[str]:
        """The partitions to rewrite where keys move: those of the feed's rows, and all others that hold its keys."""
        filled = txn.partitions.names_of(feed["live_partitions"])
        if txn.partitions.are_all(filled):
            return txn.partitions.stored + filled
        others = set(txn.partitions.stored) - set(filled)
        where = txn.partitions.filter_at_least(others)
        join = self._choose_join(txn, plan, feed, others, None)
        with planned(txn.spark, join, txn.partitions.amount(others)):
            found = self.queries.rows(self.macros.lakemerge_partitions_of_keys_sql(plan, where, join))[0]
        return filled + txn.partitions.names_of(found["partitions"])

    def _stage_without_match(
        self, txn: NodeTransaction, plan: MergePlan, feed: Mapping[str, Any], touched: list[str]
    ) -> Staged:
        """Write the touched partitions without matching first, counting as they are written."""
        filled = txn.partitions.names_of(feed["live_partitions"])
        join = self._choose_join(txn, plan, feed, touched, None)
        gathering = self._gather(txn, plan, touched, join)
        self.queries.define_view("lakemerge_resolved", self.macros.lakemerge_unmatched_changes_sql(plan))
        observed = [
            self.queries.observe_view(
                f"lakemerge_matched_{number}",
                self.macros.lakemerge_matched_stored_sql(plan, part.filter, join),
                {"updated": "count_if(not _lakemerge_deletes)", "deleted": "count_if(_lakemerge_deletes)"},
            )
            for number, part in enumerate(gathering.parts, 1)
        ]
        sql = self.macros.lakemerge_unmatched_rows_sql(plan, gathering, change_files(feed))
        with planned(txn.spark, join):
            txn.stage(sql, touched, count=False, filled=filled)
        counts = sum((Counter(seen.get) for seen in observed), Counter())
        absent = feed["deletes"] - counts["deleted"]
        if feed["deletes"] or plan.keeps_live_sequences:
            self._stage_ledger(txn, plan)
        done = {
            "inserted": feed["keys"] - feed["deletes"] - counts["updated"],
            "updated": counts["updated"],
            "deleted": counts["deleted"],
            "ignored": absent,
            "tombstones": absent,
        }
        return Staged(True, done, _rows_after(txn, plan, done))

    # -- changes that have to be compared with what is stored ----------------------------------

    def _resolve(
        self,
        txn: NodeTransaction,
        plan: MergePlan,
        feed: Mapping[str, Any],
        scanned: list[str] | None,
        ledger: Amount | None,
    ) -> dict[str, Any]:
        """Compute ``lakemerge_resolved`` once: what becomes of each key; returns the counts, and partitions.

        Raises:
            AmbiguousChange: a change has the sequence of what is stored, and other values.
        """
        join = self._choose_join(txn, plan, feed, scanned, ledger)
        sql = self.macros.lakemerge_resolved_changes_sql(
            plan, txn.partitions.filter(scanned), join, ledger is not None
        )
        counts = self.macros.lakemerge_resolved_counts(plan)
        with planned(txn.spark, join):
            resolved = self.queries.materialize("lakemerge_resolved", sql, counts)
        if plan.stored_sequence and resolved["repeated"] and self.config.on_sequence_tie == "error":
            self._check_repeats(txn, plan, resolved, ledger is not None)
        return resolved

    def _gather(self, txn: NodeTransaction, plan: MergePlan, touched: list[str], join: str) -> Gathering:
        """How the rows of the touched partitions come into few files."""
        size = self.config.target_file_size
        if plan.exists and join == BROADCAST:
            tasks = txn.spark.sparkContext.defaultParallelism
            parts = by_tasks(txn.partitions, touched, tasks=tasks, columns=len(plan.columns), file_size=size)
            if parts:
                return parts
        rebalances = txn.partitions.should_gather(touched, size)
        hint = ONE_TASK if join == ONE_TASK else REBALANCE if rebalances else AS_READ
        return Gathering(hint, [Part(txn.partitions.filter(touched) if plan.exists else "true")])

    @staticmethod
    def _choose_join(
        txn: NodeTransaction,
        plan: MergePlan,
        feed: Mapping[str, Any],
        names: Iterable[str] | None,
        ledger: Amount | None,
    ) -> str:
        """How the changes meet the stored rows of partitions (``None``: all), and the ledger."""
        # through a view, the stored rows come from joins with the deltas
        stored = None if txn.overlay else txn.partitions.amount(names) + (ledger or Amount(0, 0))
        # the row of a key holds all of its partial updates
        return choose_join(feed["changes" if plan.partial else "keys"], len(plan.columns), stored)

    def _check_repeats(
        self, txn: NodeTransaction, plan: MergePlan, resolved: Mapping[str, Any], has_ledger: bool
    ) -> None:
        """Refuse changes that have the sequence of the stored row but other values.

        Nobody can know which of the two is right. The check costs a scan of the partitions in question, and only when a
        feed is delivered again.
        """
        where = txn.partitions.filter(txn.partitions.names_of(resolved["same_partitions"]))
        differing = self.queries.rows(self.macros.lakemerge_differing_repeats_sql(plan, where, has_ledger))
        if differing:
            raise repeats_error(differing)

    def _stage_resolved(
        self,
        txn: NodeTransaction,
        plan: MergePlan,
        feed: Mapping[str, Any],
        resolved: Mapping[str, Any],
        ledger: Amount | None,
    ) -> Staged:
        """Write what a merge changes: the new content of the touched partitions, and the ledger."""
        has_ledger = ledger is not None
        ends_absent = plan.exists and (plan.syncs or feed["truncates"] > 0)
        absent: Mapping[str, Any] = {"row_count": 0, "partitions": []}
        if ends_absent:
            absent = self.queries.rows(self.macros.lakemerge_absent_rows_sql(plan, has_ledger))[0]
        counts = {
            "inserted": resolved["inserted"],
            "updated": resolved["updated"],
            "deleted": resolved["deleted"] + absent["row_count"],
            "ignored": resolved["late"] + resolved["repeated"] + resolved["tombstones"],
            "late": resolved["late"],
            "tombstones": resolved["tombstones"],
        }
        changed = counts["inserted"] + counts["updated"] + counts["deleted"]
        remembers = self._remembers(plan, feed, counts, has_ledger)
        if not (changed or remembers or txn.changes_description or not plan.exists):
            return Staged(False, counts)
        if changed or txn.rewrites_all or not plan.exists:
            self._stage_rows(txn, plan, feed, resolved, list(absent["partitions"]), ledger)
        if remembers:
            self._stage_ledger(txn, plan)
        return Staged(True, counts, _rows_after(txn, plan, counts))

    def _stage_rows(
        self,
        txn: NodeTransaction,
        plan: MergePlan,
        feed: Mapping[str, Any],
        resolved: Mapping[str, Any],
        absent: list[str],
        ledger: Amount | None,
    ) -> None:
        """Write the content of the touched partitions; of all partitions where stored files no longer fit."""
        old = resolved.get("old_partitions") or []
        touched = txn.partitions.names_of([*resolved["new_partitions"], *old, *absent])
        if txn.rewrites_all:
            touched += txn.partitions.stored
        join = self._choose_join(txn, plan, feed, touched, ledger if feed["truncates"] else None)
        sql = self.macros.lakemerge_merged_rows_sql(
            plan,
            self._gather(txn, plan, touched, join),
            join,
            ledger is not None,
            truncating=feed["truncates"] > 0,
            change_files=change_files(feed),
        )
        with planned(txn.spark, join):
            txn.stage(sql, touched, count=False, filled=txn.partitions.names_of(resolved["new_partitions"]))

    # -- the ledger ----------------------------------------------------------------------------

    def _open_ledger(self, txn: NodeTransaction, plan: MergePlan) -> Amount | None:
        """Make the view ``lakemerge_ledger``, if the changes have sequences to compare with it; see `open_ledger`."""
        if not plan.sequence:
            return None
        return open_ledger(txn, plan.ledger_type, self.config.tombstone_retention, plan.key_types)

    def _remembers(
        self, plan: MergePlan, feed: Mapping[str, Any], counts: Mapping[str, int], has_ledger: bool
    ) -> bool:
        """Whether a merge has something to remember in the ledger."""
        if not plan.sequence:
            return False
        live = counts["inserted"] + counts["updated"] if plan.keeps_live_sequences else 0
        if counts["deleted"] + counts["tombstones"] + live:
            return True
        # a truncate is remembered even when it ended no row, but only once
        sql = self.macros.lakemerge_new_truncates_sql(has_ledger)
        return bool(feed["truncates"]) and bool(self.queries.rows(sql))

    def _stage_ledger(self, txn: NodeTransaction, plan: MergePlan) -> None:
        """Write what the ledger has to remember, and rewrite the ledger once it has many folders."""
        anew = txn.side_data.has_many_folders(LEDGER) and self._open_ledger(txn, plan) is not None
        macro = self.macros.lakemerge_compacted_ledger_sql if anew else self.macros.lakemerge_ledger_rows_sql
        assert plan.ledger is not None
        write_ledger(txn, macro(plan), plan.ledger, anew=anew)


def plan_merge(config: MergeConfig, txn: NodeTransaction) -> MergePlan:
    """How the typed feed meets the table. Raises LedgerMismatch."""
    plan = MergePlan.make(config, txn.plan, txn.spark.table(TYPED_FEED), txn.base, txn.table)
    return dataclasses.replace(
        plan, ledger=commit_purpose(txn, plan.ledger), syncs=plan.syncs and txn.reads_all
    )


def scans_known_partitions(plan: MergePlan, feed: Mapping[str, Any]) -> bool:
    """Whether the stored rows of the feed's keys can only be in the partitions that the feed names.

    That is the case where the key holds the partition columns, or the config says that a key never moves; but not with
    a full sync, a truncate, or changes that name no partition.
    """
    return plan.partition_known and not plan.syncs and not feed["truncates"] and not feed["unplaced"]


def can_skip_match(plan: MergePlan, txn: NodeTransaction, feed: Mapping[str, Any]) -> bool:
    """Whether no stored row has to be looked at before the rewrite.

    Every change is newer than anything stored, deleted or truncated before, so none can be late. It is enough to know
    the partitions to rewrite.
    """
    return (
        plan.exists
        and not plan.partial
        and not plan.predicates
        and not plan.syncs
        and not feed["truncates"]
        and not txn.rewrites_all
        and plan.is_above_all_known(feed.get("min_sequence"))
        and may_broadcast(feed["keys"])
    )


def merge_properties(plan: MergePlan, feed: Mapping[str, Any], rows: int | None) -> dict[str, Any]:
    """What a merge leaves for later ones: the number of rows, and the highest sequence that the table has met."""
    highest = plan.highest_sequence(feed.get("max_sequence"))
    if not highest:
        return {"rows": rows}
    return {
        "rows": rows,
        "max_sequence": [highest],
        "sequence_by": plan.sequence,
        "sequence_order": plan.sequence_order,
    }


def _rows_after(txn: NodeTransaction, plan: MergePlan, counts: Mapping[str, int]) -> int | None:
    before = txn.rows_before
    # with predicates a key may have several rows, so a matched key may be more than one row
    return None if before is None or plan.predicates else before + counts["inserted"] - counts["deleted"]


def change_files(feed: Mapping[str, Any]) -> int:
    """How many files the changes may make in each partition if they are not gathered."""
    return 1 + int(feed["keys"]) // _CHANGES_OF_FILE
