"""The rows of versions as frames of a program's session: read from the files that the manifests list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lakemerge.engine.spark.session import application_of
from lakemerge.engine.versions.version_rows import VersionRows, as_shown
from lakemerge.errors import InvalidConfig, TableNotFound
from lakemerge.kernel import Kernel, Layout, Settings, TableName, as_of_group

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


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
    frames = {}
    for name, table in tables.items():
        layout = _layout_of(kernel, table)
        rows = VersionRows(spark, kernel.files, layout, versions[table], as_committed=False)
        frames[name] = as_shown(kernel.metastore, table, rows.frame())
    return frames


def _layout_of(kernel: Kernel, name: TableName) -> Layout:
    try:
        state = kernel.current_state(name)
    except TableNotFound:  # only for a moment, while its row is recreated
        state = None
    return (state or kernel.open(name)).layout
