"""Commits on plain Hive tables. Importable without dbt and without a Spark session."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lakemerge.errors import InvalidConfig

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from lakemerge.engine.publish.result import CommitResult
    from lakemerge.engine.transactions.transaction import Transaction
    from lakemerge.errors import LeaseLost
    from lakemerge.tables import Rows, Table

#: The columns of what :func:`compact` and :func:`vacuum` return, as a schema for ``createDataFrame``.
COMPACT_SCHEMA = (
    "table_name string, action string, state string, started_at timestamp, seconds double, files_before bigint, "
    "files_after bigint, bytes_before bigint, bytes_after bigint, rows bigint, left bigint, error string"
)
VACUUM_SCHEMA = "table_name string, state string, items bigint, bytes bigint, error string"
#: The columns of what :func:`erase` returns: ``state`` is ``clean`` where nothing meets the condition, ``needed`` (of a
#: dry run) or ``erased``; ``rows`` of the newest version; ``versions`` that readers lose; ``kept_by``: what keeps
#: versions; and files: with rows, with keys that a ledger remembers, and with a text of the condition.
ERASE_SCHEMA = (
    "table_name string, state string, rows bigint, versions array<bigint>, kept_by array<string>, files array<string>, "
    "keys_in array<string>, named_in array<string>"
)


def table(name: str, *, spark: SparkSession | None = None) -> Table:
    """A table, to merge into it, append to it, look at its history, and more; see :class:`lakemerge.tables.Table`.

    ::

        products = lakemerge.table("shop.products")
        done = products.merge(changes, unique_key="product_id", sequence_by="ts", apply_as_deletes="op = 'D'")

    Args:
        name: ``schema.table``, or a table of the session's current database. It need not exist: the first merge or
            append makes it.
        spark: a session with Hive support; the active one by default.

    Raises:
        SparkApplicationMismatch: there is no active session.
        InvalidConfig: the name has more than two parts.
    """
    from lakemerge.engine.spark.beside import active_session
    from lakemerge.kernel import TableName
    from lakemerge.tables import Table

    session = spark or active_session()
    return Table(TableName.parse(name, str(session.catalog.currentDatabase())), session)


def create(
    name: str,
    rows: Rows,
    *,
    spark: SparkSession | None = None,
    partition_by: Sequence[str] = (),
    file_format: str = "orc",
    **options: Any,
) -> Table:
    """Make a table of some rows.

    Args:
        name, spark: as of :func:`table`.
        rows: as of :class:`lakemerge.tables.Table`; of no rows, a table of their columns is made.
        options: of a dbt model with ``materialized: table``, such as ``tblproperties``.

    Raises:
        InvalidConfig: there is such a table already, or an option is wrong.
        LakemergeError, PySparkException: nothing was made.
    """
    made = table(name, spark=spark)
    if made.exists:
        raise InvalidConfig(
            expected=f"no table {made.name} yet, to create it",
            found="one",
            action="Take another name; lakemerge.table() gives the existing one, whose replace() replaces its rows.",
        )
    made.replace(rows, partition_by=list(partition_by), file_format=file_format, **options)
    return made


def sql(statement: str, *, spark: SparkSession | None = None) -> CommitResult:
    """Carry out a DELETE, UPDATE, MERGE INTO, INSERT or TRUNCATE of a plain table, by one commit.

    ::

        lakemerge.sql("delete from shop.customers where customer_id = 7").deleted

    Args:
        statement: as Spark has it for tables of Delta or Iceberg. Views and settings are those of the session.
        spark: a session with Hive support; the active one by default.

    Raises:
        UnsupportedStatement: it is another statement, of another kind of table, or one that cannot be done.
        SparkApplicationMismatch: there is no active session, or it has no Hive support.
        LakemergeError, PySparkException: nothing was published, unless the error says otherwise.
    """
    from lakemerge.engine.spark.beside import active_session
    from lakemerge.engine.statements.run import run_statement

    return run_statement(spark or active_session(), statement)


def transaction(
    *tables: str,
    spark: SparkSession | None = None,
    on_lease_lost: Callable[[LeaseLost], object] | None = None,
    max_attempts: int = 10,
) -> Transaction:
    """Change several tables by one commit: all of it becomes visible together, or nothing.

    ::

        with lakemerge.transaction("shop.orders", "shop.stock") as t:
            t.upsert("shop.orders", [{"order_id": 7, "product": "lamp", "quantity": 2}])
            t.delete("shop.stock", [{"product": "lamp", "place": "A1"}])

    Args:
        tables: as ``schema.table``. Rows can be given for those of dbt models with the strategy ``merge`` or
            ``append``, statements for all that :func:`sql` can change.
        spark: a session with Hive support; the active one by default.
        on_lease_lost: called once, in another thread, if the transaction can no longer commit because it gave no sign
            of life for too long. Stop sending changes then.
        max_attempts: how often the changes are merged when other commits come first.

    Raises:
        SparkApplicationMismatch: there is no active session, or it has no Hive support.
        InvalidConfig: no table is named.
    """
    from lakemerge.engine.spark.beside import active_session
    from lakemerge.engine.transactions.transaction import Transaction

    return Transaction(
        tables,
        spark or active_session(),
        on_lease_lost=on_lease_lost,
        max_attempts=max_attempts,
    )


def read_together(*tables: str, spark: SparkSession | None = None) -> dict[str, DataFrame]:
    """Read several tables as they were at one moment: each commit over several tables is in all of them, or in none.

    ::

        tables = lakemerge.read_together("shop.orders", "shop.stock")
        sold = tables["shop.orders"].join(tables["shop.stock"], "product")

    A commit counts from the moment when it stands, so this may be a version that other readers of a table find only a
    moment later. No writer is waited for, and nothing is written.

    Args:
        tables: tables that lakemerge has committed to, as ``schema.table``.
        spark: a session with Hive support; the active one by default.

    Returns:
        Frames of the tables' rows, by the names that were given. Each time a frame is computed, it reads the files of
        the same version, which stay for as long as vacuum keeps that version.

    Raises:
        SparkApplicationMismatch: there is no active session, or it has no Hive support.
        InvalidConfig: no table is named.
        TableNotFound, UnsupportedTable: a table is not there, or has no versions.
        ClaimHeld: other commits came between for ten minutes; try again when fewer writers are at work.
    """
    from lakemerge.engine.spark.beside import active_session
    from lakemerge.engine.transactions.read_together import read_together as read

    return read(spark or active_session(), tables)


def compact(
    *tables: str,
    spark: SparkSession | None = None,
    exclude: Sequence[str] = (),
    partitions: str | None = None,
    max_bytes: int | str | None = None,
    sort_by: Sequence[str] = (),
    zorder_by: Sequence[str] = (),
    deltas: str | None = None,
    target_file_size: int | str | None = None,
    dry_run: bool = False,
) -> list[dict[str, Any]]:
    """Rewrite the small files of tables into a few large ones, or sort their rows; no row changes.

    ::

        rows = lakemerge.compact("shop.*", exclude=["shop.archive"], max_bytes="50gb")

    Args:
        tables: ``schema.table``; ``*`` stands for any text in the name of a table, and then for the tables that
            lakemerge has committed to.
        spark: a session with Hive support; the active one by default.
        exclude: tables to leave out, named likewise.
        partitions, max_bytes, sort_by, zorder_by, deltas: as of the operation ``lakemerge_compact``.
        target_file_size: bytes of a data file, or a size such as ``64mb``; 128 MB by default.
        dry_run: only report what each table needs.

    Returns:
        A mapping for each thing that was done to a table, with the keys of :data:`COMPACT_SCHEMA`; none for tables
        that need nothing. ``state`` is ``done``, ``needed`` (of a dry run) or ``failed``, with ``error``: a table that
        fails does not stop the others.

    Raises:
        SparkApplicationMismatch: there is no active session, or it has no Hive support.
        InvalidConfig: an argument is wrong, or a schema is missing.
        MetastoreError: the tables could not be listed.
    """
    from lakemerge.engine.maintenance.tables import compact_tables
    from lakemerge.engine.spark.beside import active_session

    arguments = {
        "partitions": partitions,
        "max_bytes": max_bytes,
        "sort_by": sort_by,
        "zorder_by": zorder_by,
        "deltas": deltas,
    }
    return compact_tables(
        spark or active_session(),
        tables,
        exclude,
        arguments,
        target_file_size=target_file_size,
        dry_run=dry_run,
    )


def vacuum(
    *tables: str,
    spark: SparkSession | None = None,
    exclude: Sequence[str] = (),
    retention_hours: float = 168,
    retain_last: int = 1,
    max_bytes: int | str | None = None,
    dry_run: bool = True,
    allow_short_retention: bool = False,
) -> list[dict[str, Any]]:
    """Delete the files of tables that no kept version needs; by default only report how much that is.

    Args:
        tables, spark, exclude: as of :func:`compact`.
        retention_hours, retain_last, max_bytes, dry_run, allow_short_retention: as of the operation
            ``lakemerge_vacuum``.

    Returns:
        A mapping for each table that has something to delete, with the keys of :data:`VACUUM_SCHEMA`; ``state`` as of
        :func:`compact`.

    Raises:
        SparkApplicationMismatch, InvalidConfig, MetastoreError: as :func:`compact`.
    """
    from lakemerge.engine.maintenance.tables import vacuum_tables
    from lakemerge.engine.spark.beside import active_session

    return vacuum_tables(
        spark or active_session(),
        tables,
        exclude,
        retention_hours=retention_hours,
        retain_last=retain_last,
        max_bytes=max_bytes,
        dry_run=dry_run,
        allow_short_retention=allow_short_retention,
    )


def erase(
    conditions: Mapping[str, str], *, spark: SparkSession | None = None, dry_run: bool = True
) -> list[dict[str, Any]]:
    """Erase the rows that meet conditions, from tables, from all that is kept beside them, and from all their versions.

    ::

        lakemerge.erase({"shop.customers": "customer_id = 7", "shop.orders": "customer_id = 7"}, dry_run=False)

    The rows are deleted by one commit of all tables; records of a quarantine by one of its table. In a history, each
    key goes of which a version, or a change that the ledger remembers, meets the condition. Then all earlier versions
    of these tables are deleted, whatever vacuum's retention time is, and all files are searched. A query that still
    reads an earlier version fails.

    Args:
        conditions: SQL over the columns, by table (``schema.table``, or ``schema.table__quarantine``). It may have
            subqueries, but not of these tables.
        spark: a session with Hive support; the active one by default.
        dry_run: only report what there is to erase; change nothing.

    Returns:
        A mapping for each table, with the keys of :data:`ERASE_SCHEMA`.

    Raises:
        NotErased: files still hold such rows, and the error names them. The rows are deleted all the same.
        UnsupportedStatement, UnsupportedTable, InvalidConfig: nothing was changed.
        SparkApplicationMismatch: there is no active session, or it has no Hive support.
        LakemergeError, PySparkException: an error on the way; run it again.
    """
    from lakemerge.engine.erasure.erase import erase_rows
    from lakemerge.engine.spark.beside import active_session

    return erase_rows(spark or active_session(), conditions, dry_run=dry_run)
