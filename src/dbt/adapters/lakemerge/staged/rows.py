"""The rows of a version that was staged, as all sessions of the Spark application read them."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dbt.adapters.lakemerge.staged_names import PREFIX, runnable_text
from py4j.protocol import Py4JError

from lakemerge.engine.layout.partition_values import directory_name
from lakemerge.engine.layout.partitions import partition_filter
from lakemerge.engine.relations.file_frames import schema_of
from lakemerge.engine.relations.nested_types import cast_by_name
from lakemerge.engine.relations.sized_text import unsized
from lakemerge.engine.relations.table_schema import is_nested, spark_type
from lakemerge.engine.spark.releases import condition_of
from lakemerge.engine.sql_text import qualified, quote
from lakemerge.kernel import DEFAULT_PARTITION, DELETED, DELTAS, HiveColumn, Layout, Manifest, TableName

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


_NAME_TAKEN = "TEMP_TABLE_OR_VIEW_ALREADY_EXISTS"


@dataclass(frozen=True)
class GlobalView:
    """A view that all sessions of the application have, until it is dropped.

    Attributes:
        name: for queries, with the database of such views.
        parts: the bare names of all views that it is made of.
        spark: a session of the application.
    """

    name: str
    parts: tuple[str, ...]
    spark: SparkSession = field(repr=False, compare=False)

    def drop(self) -> None:
        """Remove it. Where Java has died, it has gone with it."""
        with suppress(Py4JError, OSError):
            for part in self.parts:
                self.spark.catalog.dropGlobalTempView(part)


def define_query(spark: SparkSession, sql: str, like: TableName | None = None) -> GlobalView:
    """Make a global view of a query that all sessions can run.

    Args:
        like: the table that the view stands for. The view gets the table's name, so that queries may qualify columns by
            it; but not if a view of that name is there already, such as one for the same name in another schema.
    """
    sql = runnable_text(sql)
    if like is not None:
        from pyspark.errors import AnalysisException

        try:
            spark.sql(f"create global temporary view {quote(like.name)} as {sql}")
            return GlobalView(f"{_database(spark)}.{quote(like.name)}", (like.name,), spark)
        except AnalysisException as error:
            if condition_of(error) != _NAME_TAKEN:
                raise
    view = f"{PREFIX}{uuid.uuid4().hex}"
    spark.sql(f"create or replace global temporary view {view} as {sql}")
    return GlobalView(f"{_database(spark)}.{view}", (view,), spark)


def define_rows(
    spark: SparkSession,
    name: TableName,
    layout: Layout,
    manifest: Manifest,
    spelling: Mapping[str, str],
    *,
    like: TableName | None = None,
) -> GlobalView:
    """Make a global view of the rows that a table would have.

    What the version writes is read from its files; the rest from the table, when the view is read.

    Args:
        manifest: of the version, which is not published.
        spelling: names of columns as they are to be shown, by their names in lower case.
        like: as of :func:`define_query`.
    """
    staged = f"{PREFIX}files_{uuid.uuid4().hex}"
    files = _files_written(spark, layout, manifest)
    if files is not None:
        files.createOrReplaceGlobalTempView(staged)
    columns = [*manifest.columns, *manifest.partition_columns]
    source = f"{_database(spark)}.{staged}" if files is not None else None
    sql = staged_sql(columns, source, *_kept(spark, name, manifest), _delta_keys(manifest))
    names = ", ".join(quote(spelling.get(column.name, column.name)) for column in columns)
    view = define_query(spark, f"select {names} from ({sql})" if spelling else sql, like)
    return GlobalView(view.name, (*view.parts, *([staged] if source else [])), spark)


def staged_sql(
    columns: Sequence[HiveColumn],
    files: str | None,
    table: str | None,
    published: Mapping[str, str],
    kept: str,
    keys: Sequence[str] = (),
) -> str:
    """The query of all rows that a table would have.

    Args:
        columns: that it would have.
        files: the view of the files that the version writes, if it writes any.
        table: the table as it is, if some of its rows stay.
        published: its columns' types, by name.
        kept: SQL that is true for the rows that stay.
        keys: of a table that is merged on read: a row of the files takes the place of the table's with the same key.
    """
    new = ", ".join(quote(column.name) for column in columns)
    old = ", ".join(_published_column(column, published.get(column.name)) for column in columns)
    parts = []
    if table is not None and keys:
        matches = " and ".join(f"t.{quote(key)} = k.{quote(key)}" for key in keys)
        parts.append(f"select {old} from (select t.* from {table} t left anti join {files} k on {matches})")
    elif table is not None:
        parts.append(f"select {old} from {table} where {kept}")
    if files is not None:
        parts.append(f"select {new} from {files}" + (f" where not {quote(DELETED.name)}" if keys else ""))
    nothing = ", ".join(_published_column(column, None) for column in columns)
    return " union all ".join(parts) or f"select {nothing} where false"


def _published_column(column: HiveColumn, published: str | None) -> str:
    """SQL of a column as it will be; null where the table does not have it yet."""
    name, kind = quote(column.name), unsized(column.type)
    if published == kind:
        return name
    if published is not None and is_nested(kind):
        return f"{cast_by_name(name, spark_type(published), spark_type(kind))} as {name}"
    return f"cast({'null' if published is None else name} as {kind}) as {name}"


def _database(spark: SparkSession) -> str:
    return str(spark.conf.get("spark.sql.globalTempDatabase", "global_temp"))


def _deltas(manifest: Manifest) -> list[str]:
    """The folders of changes that the version adds beside a table that is merged on read."""
    folders = manifest.sidecars.get(DELTAS, ()) if manifest.overlay else ()
    return [folder for folder in folders if folder.rpartition("/")[2] == manifest.txn]


def _delta_keys(manifest: Manifest) -> tuple[str, ...]:
    return manifest.overlay.keys if manifest.overlay and _deltas(manifest) else ()


def _files_written(spark: SparkSession, layout: Layout, manifest: Manifest) -> DataFrame | None:
    """The rows in the files that a version writes; ``None`` where it writes none."""
    keys = manifest.partition_columns
    if deltas := _deltas(manifest):
        schema = schema_of((*manifest.columns, *keys, DELETED))
        files = spark.read.schema(schema).format(manifest.file_format)
        return files.load([layout.absolute(folder) for folder in deltas])
    if not any(name in manifest.partitions for name in manifest.written):
        return None
    renamed = [HiveColumn(directory_name(key), key.type) for key in keys]
    files = spark.read.schema(schema_of((*manifest.columns, *renamed))).format(manifest.file_format)
    found = files.load(layout.data_of(manifest.txn))
    for key in keys:
        found = found.withColumnRenamed(directory_name(key), key.name)
    return _in_version(found, manifest)


def _in_version(frame: DataFrame, manifest: Manifest) -> DataFrame:
    """Give rows of an append table's new commit the number of their version, without which they are staged."""
    null = f"={DEFAULT_PARTITION}"
    numbered = any(
        manifest.partitions[name].location.endswith(null) and not name.endswith(null)
        for name in manifest.written
        if name in manifest.partitions
    )
    if not numbered:
        return frame
    column = manifest.partition_columns[-1]
    number = f"coalesce({quote(column.name)}, cast({manifest.version} as {column.type}))"
    others = [quote(name) for name in frame.columns if name != column.name]
    return frame.selectExpr(*others, f"{number} as {quote(column.name)}")


def _kept(spark: SparkSession, name: TableName, manifest: Manifest) -> tuple[str | None, dict[str, str], str]:
    """The table whose rows stay in part, its columns' types, and SQL of the part; no table where none stays."""
    touched = {*manifest.written, *manifest.removed}
    stays = set(manifest.partitions) - touched or _deltas(manifest)
    if manifest.parent is None or not stays:
        return None, {}, "false"
    table = qualified(name)
    published = {field.name.lower(): field.dataType.simpleString() for field in spark.table(table).schema}
    if not manifest.partition_columns:
        return table, published, "true"
    kept = set(manifest.partitions) - touched
    if len(kept) < len(touched):  # the shorter condition
        return table, published, f"coalesce({partition_filter(manifest.partition_columns, kept)}, false)"
    return table, published, f"not coalesce({partition_filter(manifest.partition_columns, touched)}, false)"
