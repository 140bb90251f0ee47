"""The drivers of dbt's strategies that need no key: replace, append, insert_overwrite, microbatch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lakemerge.engine.options.append import AppendConfig
from lakemerge.engine.options.write import WriteConfig
from lakemerge.engine.publish.driver import Counts, Driver, rows_after
from lakemerge.engine.publish.node_transaction import NodeTransaction
from lakemerge.errors import EventTimeOutsideBatch

#: The view of a feed that was computed once, with the columns of the typed one.
KEPT_FEED = "lakemerge_kept_feed"


@dataclass(frozen=True)
class Placed:
    """How many rows there are, the names of the partitions that they belong to, and what else was counted."""

    rows: int
    partitions: list[str]
    counts: Mapping[str, Any] = field(default_factory=dict)


class Replace(Driver[WriteConfig]):
    """The feed becomes the whole content of the table, whatever its schema was before."""

    operation = "replace"

    def begin(self) -> NodeTransaction:
        return self.publisher.begin(self.operation, rebuild=True)

    def attempt(self, txn: NodeTransaction) -> Counts:
        rows = txn.stage(self.macros.lakemerge_new_rows_sql(txn))
        txn.commit({"rows": rows}, {"rows": rows})
        return {"rows": rows}


class Append(Driver[AppendConfig]):
    """dbt's append: the feed's rows are added."""

    operation = "append"

    # the version by which a run that is retried has added the rows
    _added_before: int | None = None

    @property
    def remarks(self) -> tuple[str, ...]:
        done = self._added_before
        return () if done is None else (f"the run that is retried has added them in version {done}",)

    def attempt(self, txn: NodeTransaction) -> Counts:
        self._added_before = self.publisher.added_before(txn)
        if self._added_before is not None:
            txn.skip()
            return {"inserted": 0}
        return {"inserted": self._add_commit(txn) if txn.adds_commits else self._rewrite(txn)}

    def _add_commit(self, txn: NodeTransaction) -> int:
        """Add the rows as new partitions, those of this commit; returns how many rows.

        Nothing is read and no partition is rewritten, so appends never conflict. Stored files are written again only
        where they no longer fit the columns, each row to its commit's partition.
        """
        kept, before = None, 0
        if txn.rewrites_all:
            txn.read()
            kept = self.macros.lakemerge_kept_rows_sql(txn, txn.partitions.stored)
            before = self._count(kept) if txn.rows_before is None else txn.rows_before
        staged = txn.stage(self.macros.lakemerge_new_rows_sql(txn, kept))
        inserted = staged - before
        if staged or txn.changes_description:
            txn.commit({"inserted": inserted}, rows_after(txn, inserted))
        else:
            txn.skip()
        return inserted

    def _count(self, sql: str) -> int:
        return int(self.queries.rows(f"select count(*) as row_count from ({sql})")[0]["row_count"])

    def _rewrite(self, txn: NodeTransaction) -> int:
        """Add the rows to the partitions that they belong to; returns how many rows.

        A partition has one directory, so a partition to which rows are added is rewritten with them. To keep the
        rewrite small, partition by a column that new rows have in common, such as a date.
        """
        feed = materialize_feed(self, txn)
        if not feed.rows and not txn.changes_description and txn.exists:
            txn.skip()
            return 0
        touched = txn.partitions.stored if txn.rewrites_all else feed.partitions
        txn.read(touched)
        kept = self.macros.lakemerge_kept_rows_sql(txn, touched) if txn.exists else None
        if feed.rows or txn.rewrites_all or not txn.exists:
            txn.stage(self.macros.lakemerge_new_rows_sql(txn, kept, KEPT_FEED))
        txn.commit({"inserted": feed.rows}, rows_after(txn, feed.rows))
        return feed.rows


class InsertOverwrite(Driver[WriteConfig]):
    """dbt's insert_overwrite: replaces the partitions that the feed has rows for; without partition_by, the table."""

    operation = "insert_overwrite"

    def attempt(self, txn: NodeTransaction) -> Counts:
        rows = txn.stage(self._sql(txn))
        if not rows and txn.exists and txn.partitions and not txn.changes_schema:
            txn.skip()
        else:
            txn.commit({"rows": rows}, {"rows": None if txn.partitions else rows})
        return {"rows": rows}

    def _sql(self, txn: NodeTransaction) -> str:
        if not txn.rewrites_all:
            return str(self.macros.lakemerge_new_rows_sql(txn))
        # stored files do not fit the new columns, so those of the other partitions are rewritten
        feed = materialize_feed(self, txn)
        txn.read()
        others = [name for name in txn.partitions.stored if name not in feed.partitions]
        kept = self.macros.lakemerge_kept_rows_sql(txn, others) if others else None
        return str(self.macros.lakemerge_new_rows_sql(txn, kept, KEPT_FEED))


class Microbatch(Driver[WriteConfig]):
    """dbt's microbatch: the feed's rows replace those of the batch's time range, which a batch without rows clears.

    The partitions need not have the batch's grain: those that hold rows of the range are rewritten.
    """

    operation = "microbatch"

    def attempt(self, txn: NodeTransaction) -> Counts:
        batch = self.macros.lakemerge_batch_range(txn)
        feed = materialize_feed(self, txn, _outside(batch))
        self._check(batch, feed.counts)
        txn.read()
        gone = f"select * from {txn.table} where {batch['sql']}" if txn.exists else None
        kept = self.macros.lakemerge_kept_rows_sql(txn, None, f"not coalesce({batch['sql']}, false)")
        return replace_rows(self, txn, feed, gone, kept)

    def _check(self, batch: Mapping[str, Any], counts: Mapping[str, Any]) -> None:
        """Refuse rows that no other run of the batch would replace: each run would add them again.

        Args:
            counts: the feed's, of :func:`_outside`.

        Raises:
            EventTimeOutsideBatch: the feed has such rows; nothing was written.
        """
        if counts["outside"]:
            times = "null" if counts["lowest"] is None else f"{counts['lowest']} to {counts['highest']}"
            raise EventTimeOutsideBatch(
                expected=f"{batch['event_time']} of each row to be in the batch: {batch['start']} to {batch['end']}, "
                "in UTC",
                found=f"{counts['outside']} rows that are not ({times}); each run of the batch would add them again",
                action="Set event_time for the inputs, or filter the model by it; and take the model's event time "
                "from the input's as it is, or by rules that hold in UTC.",
            )


def _outside(batch: Mapping[str, Any]) -> dict[str, str]:
    """Aggregates over a feed: how many rows are outside of a batch's range, and between which event times they are."""
    outside = f"not coalesce({batch['sql']}, false)"
    time = f"if({outside}, {batch['event_time']}, null)"
    return {
        "outside": f"count_if({outside})",
        "lowest": f"string(min({time}))",
        "highest": f"string(max({time}))",
    }


def materialize_feed(
    driver: Driver[Any], txn: NodeTransaction, metrics: Mapping[str, str] | None = None
) -> Placed:
    """Compute the feed once (:data:`KEPT_FEED`), for strategies that must know its partitions first.

    Args:
        metrics: more aggregates over its rows.
    """
    wanted = {**driver.macros.lakemerge_placed_counts(txn), **(metrics or {})}
    counts = driver.queries.materialize(KEPT_FEED, "select * from lakemerge_typed_feed", wanted)
    return Placed(counts["row_count"], txn.partitions.names_of(counts["partitions"]), counts)


def replace_rows(
    driver: Driver[Any], txn: NodeTransaction, feed: Placed, gone_sql: str | None, kept_sql: str
) -> Counts:
    """Commit the feed in the place of some stored rows, which may lie in other partitions than the feed's rows.

    Args:
        gone_sql: the stored rows that are deleted; ``None`` where there is no table yet.
        kept_sql: the stored rows that stay, of all partitions and in the table's new columns.
    """
    gone = _placed(driver, txn, gone_sql) if gone_sql else Placed(0, [])
    counts = {"inserted": feed.rows, "deleted": gone.rows}
    touched = [*gone.partitions, *feed.partitions, *(txn.partitions.stored if txn.rewrites_all else ())]
    if not touched and txn.exists and not txn.changes_schema:
        txn.skip()
        return counts
    kept = f"select * from ({kept_sql}) where {txn.partitions.filter(touched)}" if gone_sql else None
    txn.stage(driver.macros.lakemerge_new_rows_sql(txn, kept, KEPT_FEED), touched)
    txn.commit(counts, rows_after(txn, feed.rows, gone.rows))
    return counts


def _placed(driver: Driver[Any], txn: NodeTransaction, rows_sql: str) -> Placed:
    metrics = driver.macros.lakemerge_placed_counts(txn)
    selected = ", ".join(f"{sql} as {name}" for name, sql in metrics.items())
    found = driver.queries.rows(f"select {selected} from ({rows_sql})")[0]
    return Placed(found["row_count"], txn.partitions.names_of(found["partitions"]))
