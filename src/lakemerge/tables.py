"""One table, for programs that use Spark and no dbt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from lakemerge.errors import InvalidConfig
from lakemerge.kernel import TableName

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from lakemerge.engine.publish.result import CommitResult
    from lakemerge.merge_builder import MergeBuilder

#: Rows, as SQL of a query or as a frame: of Spark, of pandas on Spark, of pandas, or a table of Arrow.
Rows = Any


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

    def history(self, limit: int | None = None) -> list[dict[str, Any]]:
        """The table's commits, the newest first: version, operation, time, counts, files and bytes.

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
        from lakemerge.engine.transactions.rows import arrow_of, frame_of

        if (frame := frame_of(rows)) is not None:
            return frame
        if (arrow := arrow_of(rows)) is not None:
            return self._spark.createDataFrame(arrow)
        raise InvalidConfig(
            expected="rows as SQL of a query, a frame of Spark or pandas, or a table of Arrow",
            found=f"{type(rows).__module__}.{type(rows).__qualname__}",
            action="Make a frame of them, with spark.createDataFrame(rows, schema) for instance; "
            "lakemerge.transaction also takes records.",
        )
