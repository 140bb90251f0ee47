"""What a claim changes in a table's row besides the version: the same for the writer and for whoever finishes it."""

from __future__ import annotations

from collections.abc import Mapping

from lakemerge.kernel.ports.metastore import HiveTable
from lakemerge.kernel.protocol.rebuild import makes_row_anew
from lakemerge.kernel.table.definition import (
    stored_as,
    with_parameters,
    with_statistics,
    without_spark_schema,
)
from lakemerge.kernel.table.manifest import Manifest


def claimed_row(
    row: HiveTable, manifest: Manifest, parent: Manifest | None, parameters: Mapping[str, str]
) -> HiveTable:
    """A table's row once a commit stands, before it is rolled forward.

    Args:
        parent: the version that the commit follows; ``None`` where it makes the table.
        parameters: further table parameters that the commit sets.
    """
    row = with_parameters(row, parameters)
    if parent is not None and makes_row_anew(parent, manifest):
        return row
    if parent is not None and (
        manifest.columns != parent.columns or manifest.file_format != parent.file_format
    ):
        row = without_spark_schema(stored_as(row, manifest.columns, manifest.file_format))
    return with_statistics(
        row,
        files=manifest.total_files,
        size=manifest.total_bytes,
        rows=manifest.properties.get("rows"),
        with_spark=True,
    )
