"""One version of a table, for programs that use Spark and no dbt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow.dataset
    from pyspark.sql import DataFrame, SparkSession

    from lakemerge.engine.versions.choice import Choice
    from lakemerge.engine.versions.version_files import VersionFile
    from lakemerge.kernel import TableName


class TableVersion:
    """A table as it was; :meth:`lakemerge.tables.Table.at` makes one.

    It is read from the very files that it had, whatever has happened to the table since. Vacuum may delete them once
    its retention time is over, unless the version has a tag.

    Attributes:
        version: the number.
        committed_at: when it was committed, by its writer's clock: ISO 8601 in UTC.
        operation: what made it, such as ``merge``.
    """

    def __init__(self, name: TableName, spark: SparkSession, choice: Choice) -> None:
        from lakemerge.engine.spark.session import application_of

        self._name, self._spark = name, spark
        self._ports = application_of(spark).ports
        self._rows = choice.rows(spark, self._ports, name)
        manifest = self._rows.manifest
        self.version = manifest.version
        self.committed_at = manifest.committed_at
        self.operation = manifest.operation

    def __repr__(self) -> str:
        return f"<version {self.version} of {self._name}, {self.committed_at}>"

    def frame(self) -> DataFrame:
        """The rows as a frame of Spark, with the columns that the table had.

        Partitions and columns that a query does not need are not read.

        Raises:
            VersionVacuumed: its files are deleted.
            VersionChanged: another program has removed or replaced some of them.
        """
        from lakemerge.engine.versions.version_rows import as_shown

        return as_shown(self._ports.metastore, self._name, self._rows.frame())

    def files(self) -> list[VersionFile]:
        """The data files, for engines that read files by themselves, such as DuckDB and Polars.

        Raises:
            UnsupportedTable: it is merged on read, and changes lie beside the files: use :meth:`frame`.
            VersionVacuumed, VersionChanged: as of :meth:`frame`.
        """
        from lakemerge.engine.versions.version_files import files_of

        return files_of(self._rows)

    def dataset(self, filesystem: Any = None) -> pyarrow.dataset.Dataset:
        """The rows as a dataset of Arrow, read without Spark.

        A ``timestamp`` in ORC is a local time of the Java that wrote it, and has no zone here.

        Args:
            filesystem: one of Arrow's, where Arrow cannot find it by the files' URIs.

        Raises:
            UnsupportedTable, VersionVacuumed, VersionChanged: as of :meth:`files`.
        """
        from lakemerge.engine.versions.version_files import dataset_of

        return dataset_of(self._spark, self._rows, filesystem)
