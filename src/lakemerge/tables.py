"""One table, for programs that use Spark and no dbt."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lakemerge.errors import InvalidConfig
from lakemerge.kernel import Kernel, Settings, TableName

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from lakemerge.change_consumer import ChangeConsumer
    from lakemerge.engine.publish.result import CommitResult
    from lakemerge.engine.versions.changes import Difference, Versions
    from lakemerge.engine.versions.restore import Restored
    from lakemerge.engine.versions.tags import Tag
    from lakemerge.merge_builder import MergeBuilder
    from lakemerge.table_version import TableVersion

#: Rows, as SQL of a query or as a frame: of Spark, of pandas on Spark, of pandas, or a table of Arrow.
Rows = Any
#: A time: a text of ISO 8601, a date, or a time of Python; in UTC where it has no zone.
Time = str | datetime.date


class Table:
    """A plain Hive table; :func:`lakemerge.table` makes one.

    Its methods do what dbt models do, by the same rules: options have the names that they have in a model's config, and
    each call is one commit. A table that a dbt model or an earlier call has made keeps its options: leave them out, or
    give the same ones.

    Rows are best given as SQL where they depend on the table itself: a query is run anew for each attempt at the
    commit, and a frame stays what it was when it was made.

    Attributes:
        name: ``schema.table``.
    """

    def __init__(self, name: TableName, spark: SparkSession) -> None:
        self._name = name
        self._spark = spark

    @property
    def name(self) -> str:
        return str(self._name)

    def __repr__(self) -> str:
        return f"lakemerge.table({self.name!r})"

    @property
    def exists(self) -> bool:
        """Whether there is such a table or view."""
        return bool(self._spark.catalog.tableExists(self.name))

    def to_df(self) -> DataFrame:
        """The table's rows as they are now, as a frame of Spark."""
        self._spark.catalog.refreshTable(self.name)
        return self._spark.table(self.name)

    def at(
        self,
        *,
        version: int | None = None,
        timestamp: Time | None = None,
        tag: str | None = None,
        group: str | None = None,
    ) -> TableVersion:
        """The table as it was; one of the arguments says when.

        ::

            lakemerge.table("shop.products").at(version=12).frame()

        Args:
            version: its number, as :meth:`history` shows it.
            timestamp: the last version that was committed by then: a text such as ``2026-10-31 23:59``, a date, or a
                time; in UTC where it has no zone.
            tag: its name.
            group: the commit of several tables that made it, as :meth:`history` shows it.

        Raises:
            VersionNotFound, UnknownReference: there is no such version. ``VersionVacuumed``, ``TimeBeforeHistory`` and
                ``TimeInFuture`` say why.
            TableNotFound, UnsupportedTable: there is no such table, or it has no versions.
        """
        from lakemerge.engine.versions.choice import Choice
        from lakemerge.table_version import TableVersion

        return TableVersion(self._name, self._spark, Choice.of(version, timestamp, tag, group))

    def merge(self, changes: Rows, **options: Any) -> CommitResult:
        """Bring changes into the table: the latest change of each key inserts, updates or deletes its row.

        ::

            done = lakemerge.table("shop.products").merge(
                changes, unique_key="product_id", sequence_by="ts", apply_as_deletes="op = 'D'",
                except_column_list=["op"],
            )
            done.inserted, done.updated, done.version

        Args:
            changes: the rows of the feed. The first merge makes the table.
            options: of a model with ``incremental_strategy: merge``, such as ``unique_key`` and ``sequence_by``;
                ``stored_as_scd_type=2`` keeps history.

        Raises:
            InvalidConfig: an option is unknown, wrong, or not the one that the table was made with.
            AmbiguousChange: two changes of a key have the same sequence and contradict each other.
            LakemergeError, PySparkException: nothing was published, unless the error says otherwise.
        """
        return self._run("merge", changes, options)

    def append(self, rows: Rows, **options: Any) -> CommitResult:
        """Add rows. The first call makes the table; options are those of ``incremental_strategy: append``."""
        return self._run("append", rows, options)

    def overwrite_partitions(self, rows: Rows, **options: Any) -> CommitResult:
        """Replace the partitions that the rows belong to; options are those of ``insert_overwrite``."""
        return self._run("insert_overwrite", rows, options)

    def replace(self, rows: Rows, **options: Any) -> CommitResult:
        """Replace all rows, and the columns with them; options are those of ``materialized: table``."""
        return self._run("replace", rows, options)

    def delete(self, where: str = "") -> CommitResult:
        """Delete the rows for which a condition is true, by one commit; all rows without one.

        ::

            lakemerge.table("shop.customers").delete("customer_id = 7").deleted

        Args:
            where: SQL over the columns; it may have subqueries.

        Raises:
            LakemergeError, PySparkException: nothing was published, unless the error says otherwise.
        """
        return self._statement(f"delete from {self._quoted}{f' where {where}' if where else ''}")

    def update(self, set: Mapping[str, str], where: str = "") -> CommitResult:
        """Give columns other values in the rows for which a condition is true; in all rows without one.

        ::

            lakemerge.table("shop.customers").update(set={"email": "lower(email)"}, where="country = 'se'")

        Args:
            set: SQL of the new values, by column; ``address.city`` is a field.
            where: SQL over the columns; it may have subqueries.

        Raises:
            IncompatibleColumn: a value does not fit its column.
            DuplicateKey: two rows would have one key.
            LakemergeError, PySparkException: nothing was published, unless the error says otherwise.
        """
        from lakemerge.merge_builder import assignments

        return self._statement(
            f"update {self._quoted} set {assignments(set)}{f' where {where}' if where else ''}"
        )

    def merge_into(self, source: str | DataFrame, on: str) -> MergeBuilder:
        """Begin a MERGE INTO this table: update, delete and insert rows, by clauses.

        :meth:`merge` is for feeds, whose changes come late and again; this does what its clauses say.

        Args:
            source: a frame of the session, a query, or the name of a table or view.
            on: SQL over ``target`` and ``source``, such as ``target.id = source.id``.
        """
        from lakemerge.merge_builder import MergeBuilder

        return MergeBuilder(self._spark, self._quoted, source, on)

    def truncate(self) -> CommitResult:
        """Remove all rows; the versions before stay until vacuum."""
        return self._statement(f"truncate table {self._quoted}")

    def tag(
        self,
        name: str,
        *,
        version: int | None = None,
        timestamp: Time | None = None,
        retain: str | None = None,
        as_table: bool | str = False,
    ) -> Tag:
        """Let a name stand for a version, and keep the version from vacuum; by default the newest one.

        ::

            lakemerge.table("shop.products").tag("month_end_2026_10", as_table=True)

        Args:
            name: letters, digits, ``_``, ``-`` and ``.``.
            version, timestamp: as of :meth:`at`.
            retain: how long the version is kept, such as ``400 days``; for good by default.
            as_table: whether other programs get a table of the version, ``<table>__<name>``, or its name in the same
                schema. Dropping it deletes no file.

        Raises:
            InvalidConfig: an argument is wrong, or the name stands for another version.
            VersionNotFound: there is no such version.
            UnsupportedTable: the name of the version's table is taken.
            VersionChanged: another program has changed files of the version, so that no table can show it.
        """
        from lakemerge.engine.versions.choice import Choice
        from lakemerge.engine.versions.tags import tag

        return tag(
            self._kernel, self._name, name, Choice.of(version, timestamp, newest=True), retain, as_table
        )

    def untag(self, name: str) -> None:
        """Take a version's name away, and its table. Vacuum may delete the version then.

        Raises:
            UnknownReference: no version has this name.
        """
        from lakemerge.engine.versions.tags import untag

        untag(self._kernel, self._name, name)

    def diff(
        self,
        *,
        from_version: int | None = None,
        from_timestamp: Time | None = None,
        from_tag: str | None = None,
        to_version: int | None = None,
        to_timestamp: Time | None = None,
        to_tag: str | None = None,
        key: Sequence[str] = (),
        samples: int = 0,
    ) -> Difference:
        """What differs between two versions: counts of rows, by column too, and some of the rows.

        Only partitions that differ are read.

        Args:
            from_version, from_timestamp, from_tag: the first version, by one of them; by default, before all commits.
            to_version, to_timestamp, to_tag: the last version; the newest one by default.
            key: the columns that tell rows apart, where the table does not say: of appended rows and of histories.
            samples: how many rows.

        Raises:
            InvalidConfig: an argument is wrong.
            VersionNotFound, UnknownReference: there is no such version.
        """
        start = (from_version, from_timestamp, from_tag)
        return self._versions(start, (to_version, to_timestamp, to_tag), key).difference(samples)

    def changes(
        self,
        *,
        from_version: int | None = None,
        from_timestamp: Time | None = None,
        from_tag: str | None = None,
        to_version: int | None = None,
        to_timestamp: Time | None = None,
        to_tag: str | None = None,
        key: Sequence[str] = (),
        net: bool = False,
        preimages: bool = True,
    ) -> DataFrame:
        """The rows that were inserted, updated and deleted after a version, as a frame of Spark.

        Beside the table's columns it has ``_change_type`` (``insert``, ``update_preimage``, ``update_postimage``,
        ``delete``), ``_commit_version`` and ``_commit_timestamp``. Commits that only move rows, such as compactions,
        have none.

        Args:
            from_version, from_timestamp, from_tag: the version whose rows are known, by one of them; before the first
                commit by default.
            to_version, to_timestamp, to_tag: the last version; the newest one by default.
            key: as of :meth:`diff`.
            net: what has become of each row from the first version to the last, and not what each commit did.
            preimages: whether updated rows are also given as they were.

        Raises:
            InvalidConfig: an argument is wrong, or a column has the name of one of these three.
            VersionNotFound, UnknownReference: there is no such version.
            VersionVacuumed: versions in between are gone; net changes do not need them.
        """
        start = (from_version, from_timestamp, from_tag)
        versions = self._versions(start, (to_version, to_timestamp, to_tag), key)
        return versions.changes(net=net, preimages=preimages)

    def consume_changes(
        self,
        source: str | Table,
        *,
        consumer: str | None = None,
        net: bool = False,
        preimages: bool = True,
        key: str | Sequence[str] | None = None,
        limit: int | None = None,
        max_bytes: int | str | None = None,
        from_version: int | None = None,
        timeout: str | None = None,
        pin: str | None = None,
    ) -> ChangeConsumer:
        """Follow another table: bring what its commits change into this one, each change once.

        ::

            stock = lakemerge.table("shop.product_stock")
            stock.consume_changes("shop.products", net=True, preimages=False).merge(
                "select *, price * inventory as stock_value from changes",
                unique_key="product_id", apply_as_deletes="_change_type = 'delete'",
                except_column_list=["_change_type", "_commit_version", "_commit_timestamp"],
            )

        The first call sees all rows of the other table as inserts.

        Args:
            source: the other table. This one need not exist.
            consumer: the name under which progress is kept; that of this table by default, as for a dbt model.
            net, preimages, key: as of :meth:`changes`.
            limit, max_bytes: the most versions, and the most bytes that they have written, that a call takes.
            from_version: begin after this version, whose rows the table has already.
            timeout: a call that has not committed by then has failed, such as ``2 hours``; 12 hours by default.
            pin: how long after its last call the consumer keeps unread versions from vacuum; 7 days by default.

        Raises:
            InvalidConfig: an argument is wrong.
        """
        from lakemerge.change_consumer import ChangeConsumer

        options = {
            "consumer": consumer,
            "net": net,
            "preimages": preimages,
            "key": key,
            "limit": limit,
            "max_bytes": max_bytes,
            "from_version": from_version,
            "timeout": timeout,
            "pin": pin,
        }
        name = TableName.parse(
            source if isinstance(source, str) else source.name, str(self._spark.catalog.currentDatabase())
        )
        return ChangeConsumer(self._spark, self._kernel, self._name, name, options)

    def restore(
        self,
        *,
        version: int | None = None,
        timestamp: Time | None = None,
        tag: str | None = None,
        partitions: str = "",
        take_again: bool = False,
        dry_run: bool = True,
    ) -> Restored:
        """Bring the table back to what it was, by one commit, which can itself be undone.

        ::

            lakemerge.table("shop.products").restore(version=12, dry_run=False)

        Args:
            version, timestamp, tag: as of :meth:`at`.
            partitions: SQL over the partition columns that is true in those which are brought back; all by default.
            take_again: whether files, records of topics and partitions of sources that the table has read since count
                as unread.
            dry_run: only count what would change.

        Raises:
            InvalidConfig: an argument is wrong.
            VersionNotFound, UnknownReference: there is no such version.
            UnsupportedTable: the version has other partition columns or another format; or some partitions alone cannot
                be brought back.
            LakemergeError, PySparkException: nothing was published.
        """
        from lakemerge.engine.versions.choice import Choice
        from lakemerge.engine.versions.restore import restore

        choice = Choice.of(version, timestamp, tag)
        return restore(
            self._spark, self._name, choice, partitions=partitions, take_again=take_again, dry_run=dry_run
        )

    def history(self, limit: int | None = None) -> list[dict[str, Any]]:
        """The table's commits, the newest first: version, operation, time, counts, files, bytes, tags, and by which
        node and invocation of dbt, or which program, they were made.

        Raises:
            InvalidConfig: the limit is no whole number above 0.
            TableNotFound, UnsupportedTable: it is not there, or has no versions.
        """
        from lakemerge.engine.operations.arguments import limit_of
        from lakemerge.engine.operations.history import history_of
        from lakemerge.engine.spark.session import application_of

        return history_of(application_of(self._spark).ports, self._name, limit_of(limit))

    def compact(
        self, *, target_file_size: int | str | None = None, dry_run: bool = False, **arguments: Any
    ) -> list[dict[str, Any]]:
        """Rewrite small files into large ones, or sort rows; see :func:`lakemerge.compact` for the arguments."""
        from lakemerge.engine.maintenance.tables import compact_tables

        return compact_tables(
            self._spark, [self.name], (), arguments, target_file_size=target_file_size, dry_run=dry_run
        )

    def vacuum(
        self,
        *,
        retention_hours: float = 168,
        retain_last: int = 1,
        max_bytes: int | str | None = None,
        dry_run: bool = True,
        allow_short_retention: bool = False,
    ) -> list[dict[str, Any]]:
        """Delete files that no kept version needs; see :func:`lakemerge.vacuum` for the arguments."""
        from lakemerge.engine.maintenance.tables import vacuum_tables

        return vacuum_tables(
            self._spark,
            [self.name],
            (),
            retention_hours=retention_hours,
            retain_last=retain_last,
            max_bytes=max_bytes,
            dry_run=dry_run,
            allow_short_retention=allow_short_retention,
        )

    def _versions(self, start: Sequence[Any], end: Sequence[Any], key: Sequence[str]) -> Versions:
        from lakemerge.engine.packaged_macros import packaged_macros
        from lakemerge.engine.spark.session import application_of
        from lakemerge.engine.versions.changes import Versions
        from lakemerge.engine.versions.choice import Choice

        return Versions.chosen(
            self._spark,
            application_of(self._spark).ports,
            packaged_macros(),
            self._name,
            Choice.of(*start, prefix="from_", newest=True),
            Choice.of(*end, prefix="to_", newest=True),
            key=key,
        )

    @property
    def _kernel(self) -> Kernel:
        from lakemerge.engine.spark.session import application_of

        return Kernel(application_of(self._spark).ports, Settings(writer={"agent": "lakemerge.table"}))

    @property
    def _quoted(self) -> str:
        from lakemerge.engine.sql_text import qualified

        return qualified(self._name)

    def _statement(self, sql: str) -> CommitResult:
        from lakemerge.engine.statements.run import run_statement

        return run_statement(self._spark, sql, agent="lakemerge.table")

    def _run(self, strategy: str, rows: Rows, options: dict[str, Any]) -> CommitResult:
        from lakemerge.engine.request import Request, run

        query = rows if isinstance(rows, str) else ""
        request = Request(self.name, strategy, options, query, agent="lakemerge.table")
        return run(request, self._spark, None if query else self._frame(rows))

    def _frame(self, rows: Rows) -> DataFrame:
        from lakemerge.engine.spark.small_frames import arrow_frame
        from lakemerge.engine.transactions.rows import arrow_of, frame_of

        if (frame := frame_of(rows)) is not None:
            return frame
        if (arrow := arrow_of(rows)) is not None:
            return arrow_frame(self._spark, arrow)
        raise InvalidConfig(
            expected="rows as SQL of a query, a frame of Spark or pandas, or a table of Arrow",
            found=f"{type(rows).__module__}.{type(rows).__qualname__}",
            action="Make a frame of them, with spark.createDataFrame(rows, schema) for instance; "
            "lakemerge.transaction also takes records.",
        )
