"""What a claim changes in a table's row besides the version: the same for the writer and for whoever finishes it."""

from __future__ import annotations

from collections.abc import Mapping

from lakemerge.kernel.ports.metastore import HiveTable
from lakemerge.kernel.protocol.rebuild import makes_row_anew
from lakemerge.kernel.table.definition import (
    stored_as,
    with_parameters,
    with_statistics,
)
from lakemerge.kernel.table.manifest import Manifest
from lakemerge.kernel.table.spark_schema import has_spark_schema, respelled, without_spark_schema


def claimed_row(
    row: HiveTable, manifest: Manifest, parent: Manifest | None, parameters: Mapping[str, str]
) -> HiveTable:
    """A table's row once a commit stands, before it is rolled forward.

    Args:
        parent: the version that the commit follows; ``None`` where it makes the table.
        parameters: further table parameters that the commit sets.
    """
    respells = has_spark_schema(parameters)
    row = with_parameters(without_spark_schema(row) if respells else row, parameters)
    if parent is not None and makes_row_anew(parent, manifest):
        return row  # with the new schema for Spark, which ignores it until the columns are the new ones too
    if parent is not None and (
        manifest.columns != parent.columns or manifest.file_format != parent.file_format
    ):
        row = respelled(stored_as(row, manifest.columns, manifest.file_format))
    elif respells:
        row = respelled(row)
    return with_statistics(
        row,
        files=manifest.total_files,
        size=manifest.total_bytes,
        rows=manifest.properties.get("rows"),
        with_spark=True,
    )
