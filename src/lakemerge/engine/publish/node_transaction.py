"""One attempt of a node to publish: drivers fill it between begin and commit, and macros ask it for facts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from lakemerge.engine.layout.data_files import DataFiles
from lakemerge.engine.layout.partition_spelling import Spelling
from lakemerge.engine.layout.partition_values import checked, directory_name, require_short
from lakemerge.engine.layout.partitions import Partitions
from lakemerge.engine.options.write import WriteConfig
from lakemerge.engine.publish.redo import Restarted
from lakemerge.engine.publish.side_data import SideData
from lakemerge.engine.relations.table_schema import SchemaPlan
from lakemerge.engine.spark.observations import Observed, observe
from lakemerge.engine.spark.own_sql import run_sql
from lakemerge.engine.spark.record_planning import planned_for_records
from lakemerge.engine.spark.unreadable_files import typed_read_errors
from lakemerge.engine.sql_text import quote
from lakemerge.errors import CommitConflict, ConstraintViolated
from lakemerge.kernel import (
    DEFAULT_PARTITION,
    DELETED,
    DELTAS,
    HiveColumn,
    Manifest,
    Overlay,
    Transaction,
    only_moved_since,
    partition_name,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from lakemerge.engine.spark.handle import Processing

#: Commits a transaction, or keeps it for later.
Publish = Callable[[Transaction], "int | None"]
# The names of the counts that are taken as rows are written: of all rows, and of those that break a constraint, by the
# constraint's place.
_ROWS, _BROKEN = "__rows", "__broken_"


class NodeTransaction:
    """A kernel transaction with the Spark session that fills it.

    Attributes:
        spark: the session.
        config: what the model's config says about writing.
        plan: the columns that the table will have.
        exists: whether the table has rows to keep; false when it is made or replaced.
        rebuilds: whether this commit puts a new table in the place of what was there.
        side_data: what lies beside the rows.
        version: the version that was made; ``None`` until then, and where there was nothing to write.
    """

    def __init__(
        self,
        spark: SparkSession,
        transaction: Transaction,
        config: WriteConfig,
        plan: SchemaPlan,
        *,
        table: str,
        files: DataFiles,
        rebuilds: bool,
        constraints: Mapping[str, str],
        changes_rules: bool = False,
        processing: Processing | None = None,
        publish: Publish = Transaction.commit,
        reads_all: bool = True,
    ) -> None:
        """
        Args:
            files: how its rows are written.
            publish: takes the complete transaction and commits it; returns the version that it has made, or ``None``
                where it commits the transaction later, with others.
            changes_rules: whether programs are to change the table by other rules from this commit on.
            processing: partitions of sources whose processing is part of the commit.
            reads_all: whether the feed has all that its sources hold; see :class:`SessionHandle`.
        """
        self.spark = spark
        self._transaction = transaction
        self.config = config
        self._constraints = constraints
        self._changes_rules = changes_rules
        self._processing = processing
        self._publish = publish
        self.plan = plan
        self.table = table
        self.rebuilds = rebuilds
        self.reads_all = reads_all
        self.exists = transaction.base is not None and not rebuilds
        self.version: int | None = None
        self._spelled: tuple[str, Spelling] | None = None
        self._files = files
        self.side_data = SideData(transaction, files, files.of_side_data(spark), keeps=self.exists)
        if rebuilds and transaction.base is not None:
            transaction.replace_all()

    @property
    def base(self) -> Manifest | None:
        """The version whose rows and side data this one keeps, as far as it does not change them."""
        return self._transaction.base if self.exists else None

    # -- what macros ask -----------------------------------------------------------------------

    @property
    def files(self) -> DataFiles:
        """How rows are written."""
        return self._files

    @property
    def file_format(self) -> str:
        """The format that files are written in: an existing table keeps its own."""
        return self._files.file_format

    @property
    def adds_commits(self) -> bool:
        """Whether new rows get partitions of their own: a table of the append kind."""
        return self.exists and bool(self._transaction.commit_column)

    @property
    def rewrites_all(self) -> bool:
        """Whether a change of the schema makes stored files unfit, so that all of them are rewritten."""
        return self.exists and self.plan.rewrites_all

    @property
    def overlay(self) -> Overlay | None:
        """The view that readers see the table through; ``None`` where they read the table itself."""
        return self._transaction.overlay

    @property
    def base_table(self) -> str:
        """The table that holds what the deltas do not; of a table without a view, itself."""
        return f"{self.table[:-1]}__base`" if self.overlay else self.table

    @property
    def deltas_table(self) -> str:
        """The table of the deltas."""
        return f"{self.table[:-1]}__deltas`"

    @property
    def changes_schema(self) -> bool:
        base = self._transaction.base
        return base is not None and self.plan.data != _bare(base.columns)

    @property
    def changes_description(self) -> bool:
        """Whether there is something to commit without any row: other columns, or other rules."""
        return self.changes_schema or self._changes_rules

    @property
    def next_version(self) -> int:
        """The version that this commit makes, if no other comes before it."""
        base = self._transaction.base
        return base.version + 1 if base else 1

    @property
    def partitions(self) -> Partitions:
        """Those of the table as this commit leaves it, and of the version that it builds on."""
        return Partitions(self.plan.partitions, self.base, self._spelling)

    @property
    def _spelling(self) -> Spelling:
        base = self.base
        if base is None or not self.plan.partitions:
            return Spelling.of_new(self.table, self.plan.partitions)
        if self._spelled is None or self._spelled[0] != base.txn:
            spelling = Spelling.of(self.spark, self.table, self.plan.partitions, base.partitions)
            self._spelled = base.txn, spelling
        return self._spelled[1]

    # -- reading and writing -------------------------------------------------------------------

    def read(self, names: Iterable[str] | None = None, *, missing: bool = False) -> None:
        """Say which partitions (``None``: all) are about to be read; see :meth:`Transaction.read`.

        A commit that rewrites all partitions reads all, including those that other commits add meanwhile. So does a
        commit whose query has no condition on partitions, because these are many, and all that there are.

        Raises:
            CommitConflict: the table is no longer what this attempt was planned for, because another program has
                changed it; the next attempt begins with the change.
        """
        base = self._transaction.base
        if not self.exists or base is None:
            return
        wanted = None if names is None or self.rewrites_all else set(names)
        reads_all = wanted is None or self.partitions.needs_all(wanted)
        self._transaction.read(None if reads_all else wanted, missing=missing)
        now = self._transaction.base
        if now is not None and now.txn != base.txn and not only_moved_since(self._transaction, base):
            raise self.overtaken(f"that version {now.version} came first ({now.operation})")
        # another program may have added files to directories that this session has listed before
        self.spark.catalog.refreshTable(self.table)

    def follow_same_rows(self) -> None:
        """Let every commit that changes rows be a conflict; see :meth:`Transaction.follow_same_rows`."""
        self._transaction.follow_same_rows()

    def overtaken(self, found: str) -> CommitConflict:
        """The error that ends this attempt because the table has changed; the next attempt begins with the change."""
        return CommitConflict(
            expected=f"{self.table} to be as this attempt was planned for",
            found=found,
            action="The work has to be redone on the newer version.",
        )

    def restarted(self, found: str) -> Restarted:
        """As :meth:`overtaken`, for a table that this attempt has changed itself, and nobody else."""
        conflict = self.overtaken(found)
        return Restarted(expected=conflict.expected, found=conflict.found, action=conflict.action)

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
            filled: the touched partitions that are sure to get rows. If only one partition is touched, and it is sure
                to get rows, these are written without a sort by partition, which would take a tenth of the CPU time.

        Returns:
            The number of rows written; 0 if they were not counted.

        Raises:
            ConstraintViolated: some rows break an enforced constraint.
        """
        frame, observed = self._observe(run_sql(self.spark, sql), {_ROWS: "count(*)"} if count else {})
        only = set(touched or ()) if self.partitions else set()
        if len(only) == 1 and only == set(filled):
            self._write_partition(frame, only.pop())
        else:
            directory = self._transaction.stage_directory
            self._files.write(frame, directory, self.plan.partitions)
        counts = self._check(observed)
        self._take_staged(touched or ())
        return int(counts.get(_ROWS, 0))

    def _take_staged(self, touched: Iterable[str] = ()) -> None:
        """Add the partitions in the stage directory, and drop those that they replace.

        Dropped are the touched partitions that got no rows, and others with the values of a written one.

        Raises:
            UnsupportedTable: a written partition cannot be distinguished from a stored one with another name.
        """
        spelling = self._spelling
        written = set(self._transaction.add_staged(spelling.name))
        gone = {*touched, *spelling.twins(written)} - written
        spelling.check(written | gone)
        if gone and self.partitions:
            self._transaction.remove(gone)

    def remove(self, names: Iterable[str]) -> None:
        """Drop partitions, of which nothing is read."""
        self._transaction.remove(names)

    def stage_delta(self, sql: str) -> None:
        """Write changed rows beside the base, for readers to merge.

        Args:
            sql: rows with the columns of a delta; constraints are not checked on deleted rows, which have no values.

        Raises:
            ConstraintViolated: some rows break an enforced constraint.
            PartitionValueTooLong: a value of a partition column is too long for the base that the row is to move into.
        """
        frame, observed = self._observe(run_sql(self.spark, sql), {}, unless=quote(DELETED.name))
        self.side_data.add(DELTAS, checked(frame, self.plan.partitions).coalesce(1))
        self._check(observed)

    def stage_records(
        self, sql: str, counted: Callable[[], dict[str, Any]], *, rewrites: bool = False
    ) -> dict[str, Any]:
        """Write the rows of records that keep all rules, constraints among them.

        Args:
            counted: called when the rows are written; gives what was counted as the records were read: ``records``, and
                how many of them were ``rejected``.
            rewrites: whether the query has rows of earlier commits too.

        Returns:
            The counts.

        Raises:
            UnreadableFile: a landed file cannot be read to its end.
        """
        keys = self.plan.partitions
        with planned_for_records(self.spark, len(self.plan.columns)), typed_read_errors():
            frame = run_sql(self.spark, sql)
            if not rewrites and [column.name for column in keys] == [self.commit_column]:
                self._write_partition(frame, partition_name([self.commit_column], [DEFAULT_PARTITION]))
            else:
                self._files.write(frame, self._transaction.stage_directory, keys)
            counts = counted()
        if rewrites or counts["records"] > counts["rejected"]:
            self._take_staged()
        return counts

    def _write_partition(self, frame: DataFrame, name: str) -> None:
        """Write rows that all belong to one partition, so that Spark need not sort them by partition."""
        keys = self.plan.partitions
        parts = zip(keys, name.split("/"), strict=True)
        folders = [(key, f"{directory_name(key)}={part.partition('=')[2]}") for key, part in parts]
        for key, folder in folders:
            require_short(key, folder)
        path = "/".join(folder for _, folder in folders)
        rows = frame.drop(*(key.name for key in keys))
        self._files.write(rows, f"{self._transaction.stage_directory}/{path}")

    @property
    def kernel_transaction(self) -> Transaction:
        """The transaction itself, for side data of other kinds."""
        return self._transaction

    @property
    def commit_column(self) -> str:
        """The last partition column of a table of the append kind; empty for another table."""
        return self._transaction.commit_column

    def commit(self, metrics: Mapping[str, int], properties: Mapping[str, Any] | None = None) -> None:
        """Publish.

        Raises:
            CommitConflict: another commit came first; nothing was published.
        """
        self._transaction.metrics.update({key: int(value) for key, value in metrics.items()})
        # what earlier commits recorded about the rows may not hold any more
        self._transaction.properties = {
            key: value for key, value in (properties or {}).items() if value is not None
        }
        if self._processing:
            self._processing.record(self._transaction)
        self.version = self._publish(self._transaction)
        if self._processing:
            self._processing.succeed()

    def abort(self) -> None:
        """End without a commit."""
        self._transaction.abort()

    @property
    def made(self) -> Manifest | None:
        """The version that was committed; ``None`` where there is none."""
        return self._transaction.made

    def skip(self) -> None:
        """End without a commit, because there are no rows to publish.

        But if partitions of sources were processed, a commit records that, where there is a table.
        """
        base = self._transaction.base
        if base is not None and self._processing and self._processing.has_items:
            return self.commit({}, base.properties)
        self.abort()

    @property
    def is_over(self) -> bool:
        """Whether the transaction was committed or skipped."""
        return self._transaction.state != "open"

    @property
    def is_staged(self) -> bool:
        """Whether the transaction is complete, and waits to be published with others."""
        return self._transaction.state == "suspended"

    @property
    def rows_before(self) -> int | None:
        """The number of rows of the version that this one builds on, where it is known."""
        rows = self.base.properties.get("rows") if self.base else 0
        return int(rows) if rows is not None else None

    def _observe(
        self, frame: DataFrame, metrics: Mapping[str, str], unless: str = "false"
    ) -> tuple[DataFrame, Observed | None]:
        """Count the rows that break constraints, and other metrics, as rows pass; do nothing without any of these.

        Args:
            unless: SQL that is true for rows which need not keep the constraints.
        """
        # by names of their own, because a constraint may have any name
        checks = {
            f"{_BROKEN}{place}": f"count_if(not ({unless}) and ({broken}))"
            for place, broken in enumerate(self._constraints.values())
        }
        metrics = {**metrics, **checks}
        return observe(frame, metrics) if metrics else (frame, None)

    def _check(self, observed: Observed | None) -> dict[str, Any]:
        """What was counted, if the rows keep the constraints. Raises ConstraintViolated."""
        counts = observed.get if observed else {}
        broken = [
            f"{counts[f'{_BROKEN}{place}']} rows with {check} ({name})"
            for place, (name, check) in enumerate(self._constraints.items())
            if counts[f"{_BROKEN}{place}"]
        ]
        if broken:
            raise ConstraintViolated(
                expected=f"rows for {self.table} that keep its constraints",
                found=", ".join(broken),
                action="Nothing was published. Correct the rows in the model, or the constraint.",
            )
        return counts


def _bare(columns: Iterable[HiveColumn]) -> tuple[HiveColumn, ...]:
    return tuple(HiveColumn(column.name, column.type) for column in columns)
