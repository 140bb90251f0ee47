"""One attempt of a node to publish: what the materializations' macros call between begin and commit."""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, TypeVar, cast

from dbt.adapters.lakemerge.history.layout import HistoryLayout
from dbt.adapters.lakemerge.history.plan import Scd2Plan
from dbt.adapters.lakemerge.ingest.record_planning import planned_for_records
from dbt.adapters.lakemerge.merge.ledger import LEDGER, LedgerPurpose, purpose_met
from dbt.adapters.lakemerge.merge.plan import MergePlan
from dbt.adapters.lakemerge.publish.data_files import directory_name, write_files
from dbt.adapters.lakemerge.publish.partition_filter import partition_filter
from dbt.adapters.lakemerge.publish.write_config import WriteConfig
from dbt.adapters.lakemerge.relations.table_schema import SchemaPlan
from dbt.adapters.lakemerge.spark.observations import Observed, observe
from dbt.adapters.lakemerge.spark.unreadable_files import typed_read_errors

from lakemerge.errors import CommitConflict, ConstraintViolated
from lakemerge.kernel import (
    DEFAULT_PARTITION,
    SIDE_TABLES,
    WHOLE_TABLE,
    Group,
    HiveColumn,
    Manifest,
    Transaction,
    partition_name,
)

if TYPE_CHECKING:
    from dbt.adapters.lakemerge.consume.consumption import Consumption
    from pyspark.sql import DataFrame, SparkSession

# So many folders of rejected records are written into one.
_MOST_FOLDERS = 20
_ROWS_OF_FILE = 1_000_000
QUARANTINE = "quarantine"
# How many times the files that their size asks for the partitions may have before they are gathered.
_MOST_FILES = 4

F = TypeVar("F", bound=Callable[..., Any])


def _translated(method: F) -> F:
    """Let the errors of a NodeTransaction's method reach dbt as dbt's own."""

    @functools.wraps(method)
    def run(self: NodeTransaction, *args: Any, **kwargs: Any) -> Any:
        with self._guard(f"{method.__name__} {self.table}"):
            return method(self, *args, **kwargs)

    return cast("F", run)


class NodeTransaction:
    """A kernel transaction with the Spark session that fills it.

    Attributes:
        plan: the columns that the table will have.
        exists: whether the table has rows to keep; false when it is made or replaced.
        rebuilds: whether this commit puts a new table in the place of what was there.
        groups: the groups of partitions that a compaction merges.
        conflict: set when another commit overtook this one; nothing was published.
        version: the version that was made.
    """

    def __init__(
        self,
        spark: SparkSession,
        transaction: Transaction,
        config: WriteConfig,
        plan: SchemaPlan,
        *,
        table: str,
        rebuilds: bool,
        constraints: Mapping[str, str],
        guard: Callable[[str], AbstractContextManager[None]],
        before_commit: Callable[[], None] | None = None,
        groups: Sequence[Group] = (),
        consumption: Consumption | None = None,
    ) -> None:
        """
        Args:
            guard: translates errors of Spark and of the kernel to dbt's.
            before_commit: called when all is staged, such as to drop a view that stands where a table is to be.
            groups: of a compaction, what it merges.
            consumption: partitions of sources whose processing is part of the commit.
        """
        self._spark = spark
        self._transaction = transaction
        self._config = config
        self._constraints = constraints
        self._guard = guard
        self._before_commit = before_commit
        self.groups = groups
        self._consumption = consumption
        self.plan = plan
        self.table = table
        self.rebuilds = rebuilds
        self.exists = transaction.base is not None and not rebuilds
        self.version: int | None = None
        self.conflict: CommitConflict | None = None
        self._ledger_scope: list[str] | None = None
        if rebuilds and transaction.base is not None:
            transaction.replace_all()

    @property
    def _base(self) -> Manifest | None:
        """The version whose rows and side data this one keeps, as far as it does not change them."""
        return self._transaction.base if self.exists else None

    # -- what macros ask -----------------------------------------------------------------------

    @property
    def file_format(self) -> str:
        """The format that files are written in: an existing table keeps its own."""
        return self._base.file_format if self._base else self._config.file_format

    @property
    def partitioned(self) -> bool:
        return bool(self.plan.partitions)

    @property
    def adds_commits(self) -> bool:
        """Whether new rows get partitions of their own: a table of the append kind."""
        return self.exists and bool(self._transaction.commit_column)

    @property
    def rewrites_all(self) -> bool:
        """Whether a change of the schema makes stored files unfit, so that all of them are rewritten."""
        return self.exists and self.plan.rewrites_all

    @property
    def changes_schema(self) -> bool:
        base = self._transaction.base
        return base is not None and self.plan.data != _bare(base.columns)

    @property
    def history(self) -> HistoryLayout:
        """Where this commit finds and puts open and closed rows of a table that keeps history."""
        return (self._config.history or HistoryLayout(split=False)).met(self._base)

    @property
    def base_partitions(self) -> list[str]:
        """The names of the partitions that the table has now."""
        return list(self._base.partitions) if self._base else []

    def merge_plan(self, feed: DataFrame) -> MergePlan:
        """How a merge reads this feed into this table. Raises LedgerMismatch."""
        plan = MergePlan.make(self._config, self.plan, feed, self._base, self.table)
        return dataclasses.replace(plan, ledger=self._met_ledger(plan.ledger))

    def scd2_plan(self, feed: DataFrame) -> Scd2Plan:
        """How a merge reads this feed into this history. Raises LedgerMismatch."""
        base = self._transaction.base
        version = base.version + 1 if base else 1
        plan = Scd2Plan.make(self._config, self.plan, feed, self._base, self.table, version)
        merge = dataclasses.replace(plan.merge, ledger=self._met_ledger(plan.merge.ledger))
        return dataclasses.replace(plan, merge=merge)

    def _met_ledger(self, wanted: LedgerPurpose | None) -> LedgerPurpose | None:
        """Make the commit's ledger one for this purpose, and see that the one which is there is, too."""
        if wanted is None:
            return None
        record = self._base.side_data_for.get(LEDGER) if self._base else None
        paths = [self._transaction.layout.absolute(folder) for folder in self._folders(LEDGER)]
        met = purpose_met(wanted, record, paths, self._spark, str(self._transaction.name))
        self._transaction.describe_side_data(LEDGER, met.record)
        return met

    def partition_filter(self, names: Iterable[str] | None, exact: bool = False) -> str:
        """SQL that is true in the partitions of these names (``None``: in all).

        Args:
            exact: not true in others even where these are all that this attempt knows of.
        """
        return partition_filter(self.plan.partitions, names, None if exact else self.base_partitions)

    def names_of(self, texts: Iterable[str]) -> list[str]:
        """Partition names of the texts that ``lakemerge_partition_sql`` makes: a JSON array of strings each."""
        rows = [json.loads(text) for text in texts]
        if not self.partitioned:
            return [WHOLE_TABLE] if rows else []
        columns = [column.name for column in self.plan.partitions]
        return sorted(
            {
                partition_name(
                    columns, [DEFAULT_PARTITION if value in (None, "") else value for value in row]
                )
                for row in rows
            }
        )

    def rewrites_every_partition(self, names: Iterable[str]) -> bool:
        """Whether a commit that touches these partitions leaves none of the table as it is."""
        return not self.partitioned or set(self.base_partitions) <= set(names)

    def gathers(self, touched: Iterable[str]) -> bool:
        """Whether these partitions should be written with a shuffle that gathers their rows in few files.

        Without one a rewrite costs a fifth less, and leaves one small file more in each partition. So that is
        done as long as a partition has few files, and every few commits they are gathered again.
        """
        if self._base is None:
            return True
        stored = self._base.partitions
        states = [stored[name] for name in set(touched) if name in stored]
        size = self._config.target_file_size
        fitting = sum(1 + state.bytes // size for state in states)
        return sum(state.files for state in states) + len(states) > _MOST_FILES * fitting

    # -- reading and writing -------------------------------------------------------------------

    @_translated
    def read(self, names: Iterable[str] | None = None) -> bool:
        """Say which partitions (``None``: all) are about to be read; see :meth:`Transaction.read`.

        Returns:
            Whether the table is still what this attempt was planned for. If another program has changed it, this
            attempt is over: what it stages from here on is dropped, and the next one begins with the change.
        """
        base = self._transaction.base
        if not self.exists or base is None:
            return True
        try:
            self._transaction.read(names)
        except CommitConflict as conflict:
            self.conflict = conflict
            self._transaction.abort()
            return False
        now = self._transaction.base
        if now is not None and now.txn != base.txn:
            self.overtaken(f"that version {now.version} came first ({now.operation})")
        return self.conflict is None

    def follow_directly(self) -> None:
        """Let every commit that comes between be a conflict; see :meth:`Transaction.follow_directly`."""
        self._transaction.follow_directly()

    def overtaken(self, found: str) -> None:
        """End this attempt, for what it was planned for has changed; the next one begins with that."""
        self.conflict = CommitConflict(
            expected=f"{self.table} to be as this attempt was planned for",
            found=found,
            action="The work has to be redone on the newer version.",
        )
        self._transaction.abort()

    def read_ledger(self, names: Iterable[str] | None) -> None:
        """Say that the work hangs on the ledger of these partitions (``None``: all); see
        :meth:`Transaction.read_side_data`. What is staged for the ledger concerns the same."""
        self._ledger_scope = None if names is None else list(names)
        self._transaction.read_side_data(LEDGER, names)

    @_translated
    def open_ledger(self, schema: str) -> bool:
        """Make the view ``lakemerge_ledger`` of the sequences and tombstones kept; false if there are none.

        Args:
            schema: the ledger's columns as DDL.
        """
        folders = self._folders(LEDGER)
        if not folders:
            return False
        paths = [self._transaction.layout.absolute(folder) for folder in folders]
        seconds = int(self._config.tombstone_retention.total_seconds())
        past = f"__recorded_at < current_timestamp() - interval {seconds} seconds"
        expired = f"__kind not in ('truncate', 'live') and {past} as __is_expired"
        frame = self._spark.read.schema(schema).orc(paths).selectExpr("*", expired)
        frame.where("__kind <> 'delete' or not __is_expired").createOrReplaceTempView("lakemerge_ledger")
        return True

    @property
    def ledger_is_long(self) -> bool:
        """Whether the ledger has so many folders that this commit should write it anew."""
        return len(self._folders(LEDGER)) >= 10

    @_translated
    def stage(
        self,
        sql: str,
        touched: Iterable[str] | None = None,
        *,
        count: bool = True,
        filled: Iterable[str] = (),
    ) -> int:
        """Write the rows of a query as the new content of its partitions.

        Args:
            touched: partitions that the rows replace; those that get none are dropped.
            count: whether to count the rows, which takes a little time for each.
            filled: those of them that are sure to get rows. If that is the only one that is touched, its rows are
                written without being sorted by partition, which takes a tenth of the CPU time.

        Returns:
            The number of rows written; 0 if they were not counted.

        Raises:
            ConstraintViolated: some rows break an enforced constraint.
        """
        if self.conflict is not None:
            return 0
        checks = {"rows": "count(*)"} if count else {}
        checks.update({name: f"count_if({broken})" for name, broken in self._constraints.items()})
        frame, observed = self._spark.sql(sql), None
        if checks:
            frame, observed = observe(frame, checks)
        only = set(touched or ()) if self.partitioned else set()
        if len(only) == 1 and only == set(filled):
            self._write_partition(frame, only.pop())
        else:
            directory = self._transaction.stage_directory
            write_files(frame, directory, self.file_format, self._config, self.plan.partitions)
        counts = observed.get if observed else {}
        self._check(counts)
        written = set(self._transaction.add_staged())
        if touched is not None and self.partitioned:
            self._transaction.remove(set(touched) - written)
        return int(counts.get("rows", 0))

    @_translated
    def stage_records(self, sql: str, observation: Observed, *, rewrites: bool = False) -> dict[str, Any]:
        """Write the rows of records that keep all rules, constraints among them.

        Args:
            observation: what counts the records as they are read: ``records``, and ``rejected`` among them.
            rewrites: whether the query has rows of earlier commits too.

        Returns:
            The counts.

        Raises:
            UnreadableFile: a landed file cannot be read to its end.
        """
        if self.conflict is not None:
            return {"records": 0, "rejected": 0}
        frame, keys = self._spark.sql(sql), self.plan.partitions
        with planned_for_records(self._spark, len(self.plan.columns)), typed_read_errors():
            if not rewrites and [column.name for column in keys] == [self.commit_column]:
                self._write_partition(frame, partition_name([self.commit_column], [DEFAULT_PARTITION]))
            else:
                write_files(frame, self._transaction.stage_directory, self.file_format, self._config, keys)
            counts = observation.get
        if rewrites or counts["records"] > counts["rejected"]:
            self._transaction.add_staged()
        return counts

    def _write_partition(self, frame: DataFrame, name: str) -> None:
        """Write rows that all are of one partition, so that Spark need not sort them by it."""
        keys = self.plan.partitions
        parts = zip(keys, name.split("/"), strict=True)
        path = "/".join(f"{directory_name(key)}={part.partition('=')[2]}" for key, part in parts)
        rows = frame.drop(*(key.name for key in keys))
        write_files(rows, f"{self._transaction.stage_directory}/{path}", self.file_format, self._config)

    @_translated
    def stage_ledger(self, sql: str, *, replace: bool) -> None:
        """Write the query's rows to the ledger, beside what it holds or in its place."""
        directory = self._transaction.sidecar_directory(LEDGER)
        rows = self._spark.sql(sql)
        write_files(rows.hint("rebalance") if replace else rows.coalesce(1), directory, "orc", self._config)
        if replace:
            self._transaction.set_sidecars(LEDGER, [directory], concerns=self._ledger_scope)
        else:
            self._transaction.add_sidecar(LEDGER, directory, concerns=self._ledger_scope)

    @_translated
    def stage_quarantine(self, sql: str, rows: int, *, replace: bool = False) -> None:
        """Write rejected records beside those of earlier commits or in their place; the query has them all then.

        Args:
            rows: about how many they are; all files are read for them, by as many tasks as that takes.
        """
        folders = self._folders(QUARANTINE)
        frame = self._spark.sql(sql)
        folds = len(folders) >= _MOST_FOLDERS and not replace
        if folds:
            frame = self.quarantined().unionByName(frame)
        directory = self._transaction.sidecar_directory(QUARANTINE)
        with planned_for_records(self._spark, len(self.plan.columns)):
            write_files(frame.repartition(1 + rows // _ROWS_OF_FILE), directory, "orc", self._config)
        if replace or folds:
            self._transaction.set_sidecars(QUARANTINE, [directory])
        else:
            self._transaction.add_sidecar(QUARANTINE, directory)

    def clear_quarantine(self) -> None:
        """Leave no rejected record."""
        self._transaction.set_sidecars(QUARANTINE, [])

    def quarantined(self) -> DataFrame:
        """The rejected records of the version that this one builds on."""
        folders = self._folders(QUARANTINE)
        columns = ", ".join(f"{column.name} {column.type}" for column in SIDE_TABLES[QUARANTINE].columns)
        paths = [self._transaction.layout.absolute(folder) for folder in folders]
        if not paths:
            return self._spark.createDataFrame([], columns)
        return self._spark.read.schema(columns).format("orc").load(paths)

    def _folders(self, kind: str) -> Sequence[str]:
        """The folders of side data of a kind that the version which this one builds on has."""
        return self._base.sidecars.get(kind, ()) if self._base else ()

    @property
    def kernel_transaction(self) -> Transaction:
        """The transaction itself, for side data of other kinds."""
        return self._transaction

    @property
    def commit_column(self) -> str:
        """Of a table of the append kind, the last partition column; else empty."""
        return self._transaction.commit_column

    @_translated
    def commit(self, metrics: Mapping[str, int], properties: Mapping[str, Any] | None = None) -> None:
        """Publish; when another commit came first, :attr:`conflict` says so and the work is redone."""
        if self.conflict is not None:
            return
        self._transaction.metrics.update({key: int(value) for key, value in metrics.items()})
        # what earlier commits knew of the rows need not hold for these
        self._transaction.properties = {
            key: value for key, value in (properties or {}).items() if value is not None
        }
        try:
            if self._consumption:
                self._consumption.record(self._transaction)
            if self._before_commit:
                self._before_commit()
            self.version = self._transaction.commit()
        except CommitConflict as conflict:
            self.conflict = conflict
            self._transaction.abort()
        else:
            if self._consumption:
                self._consumption.succeed()

    @_translated
    def compact(self, sql: str) -> None:
        """Write these rows, those of the groups' partitions, in the partitions' place, and publish."""
        merged = [name for group in self.groups for name in group.members]
        base = self._transaction.base
        if not merged or base is None or not self.read(merged):
            return self.skip()
        self.stage(sql, merged, count=False)
        # the rows are the same, so that all that was known of them still holds
        self.commit({"compacted": len(merged)}, base.properties)

    @_translated
    def skip(self) -> None:
        """End without a commit, for there is nothing to publish; partitions that gave no rows are, as processed."""
        base = self._transaction.base
        if self.conflict is None and base is not None and self._consumption and self._consumption.has_items:
            return self.commit({}, base.properties)
        self._transaction.abort()

    @property
    def is_over(self) -> bool:
        """Whether the transaction was committed or skipped."""
        return self._transaction.state != "open"

    @property
    def base_properties(self) -> Mapping[str, Any]:
        """What the commits of the version that this one builds on have told later ones."""
        return self._base.properties if self._base else {}

    @property
    def rows_before(self) -> int | None:
        """The number of rows of the version that this one builds on, where it is known."""
        rows = self._base.properties.get("rows") if self._base else 0
        return int(rows) if rows is not None else None

    def _check(self, counts: Mapping[str, int]) -> None:
        broken = [
            f"{counts[name]} rows with {check} ({name})"
            for name, check in self._constraints.items()
            if counts[name]
        ]
        if broken:
            raise ConstraintViolated(
                expected=f"rows for {self.table} that keep its constraints",
                found=", ".join(broken),
                action="Nothing was published. Mend the rows in the model, or the constraint.",
            )


def _bare(columns: Iterable[HiveColumn]) -> tuple[HiveColumn, ...]:
    return tuple(HiveColumn(column.name, column.type) for column in columns)
