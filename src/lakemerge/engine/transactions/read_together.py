"""The rows of versions as frames of a program's session: read from the files that the manifests list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lakemerge.engine.relations.file_frames import frame_of_files, schema_of, shown_as
from lakemerge.engine.relations.sized_text import padded
from lakemerge.engine.spark.session import application_of
from lakemerge.engine.sql_text import quote
from lakemerge.errors import InvalidConfig, TableNotFound
from lakemerge.kernel import (
    DELETED,
    DELTAS,
    ORDER,
    Kernel,
    Layout,
    Manifest,
    Settings,
    TableName,
    as_of_group,
    find_row,
    spelling_of,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_PLACE = "_lakemerge_place"


def read_together(spark: SparkSession, names: Sequence[str]) -> dict[str, DataFrame]:
    """The work of :func:`lakemerge.read_together`."""
    tables = {name: TableName.parse(name, "default") for name in names}
    if not tables:
        raise InvalidConfig(
            expected="the names of the tables to read",
            found="none",
            action='Name them: lakemerge.read_together("shop.orders", "shop.stock").',
        )
    kernel = Kernel(application_of(spark).ports, Settings(writer={"agent": "lakemerge.read_together"}))
    versions = as_of_group(kernel, tables.values())
    frames = {name: _frame_of(spark, kernel, table, versions[table]) for name, table in tables.items()}
    return {name: _shown(kernel, tables[name], frame) for name, frame in frames.items()}


def _shown(kernel: Kernel, name: TableName, frame: DataFrame) -> DataFrame:
    row = find_row(kernel.metastore, name)
    return shown_as(frame, spelling_of(row) if row else {})


def _frame_of(spark: SparkSession, kernel: Kernel, name: TableName, version: Manifest) -> DataFrame:
    layout = _layout_of(kernel, name)
    places = {layout.absolute(state.location): part for part, state in version.partitions.items()}
    found = kernel.files.snapshots(list(places))
    files = [
        (entry.path, part)
        for part, (_, entries) in zip(places.values(), found, strict=True)
        for entry in entries
    ]
    base = frame_of_files(spark, files, version.file_format, version.columns, version.partition_columns)
    folders = version.sidecars.get(DELTAS, ()) if version.overlay else ()
    if version.overlay is None or not folders:
        return base
    return _merged(spark, layout, version, base, folders, version.overlay.keys)


def _layout_of(kernel: Kernel, name: TableName) -> Layout:
    try:
        state = kernel.current_state(name)
    except TableNotFound:  # only for a moment, while its row is recreated
        state = None
    return (state or kernel.open(name)).layout


def _merged(
    spark: SparkSession,
    layout: Layout,
    version: Manifest,
    base: DataFrame,
    folders: Sequence[str],
    keys: Sequence[str],
) -> DataFrame:
    """The base's rows whose keys no delta has, and the newest row of each key in the deltas, unless it is deleted."""
    from pyspark.sql import Window, functions

    columns = (*version.columns, *version.partition_columns, DELETED, ORDER)
    # a frame takes a name for an expression: a dot leads into a struct, a star stands for all columns
    names, by = list(map(quote, base.columns)), list(map(quote, keys))
    schema = schema_of(columns)
    deltas = spark.read.schema(schema).format(version.file_format)
    newest_first = Window.partitionBy(*by).orderBy(functions.col(ORDER.name).desc())
    newest = (
        deltas.load([layout.absolute(folder) for folder in folders])
        .selectExpr(*(f"{padded(quote(c.name), c.type)} as {quote(c.name)}" for c in columns))
        .withColumn(_PLACE, functions.row_number().over(newest_first))
        .where(f"{_PLACE} = 1")
    )
    kept = base.join(newest.select(*by), list(keys), "left_anti").select(*names)
    return kept.unionByName(newest.where(f"not {DELETED.name}").select(*names))
