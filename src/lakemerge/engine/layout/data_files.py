"""How rows become data files: formats, compression, sizes, and the names of partitions' directories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from lakemerge.engine.layout.compression import default_codec
from lakemerge.engine.layout.partition_values import checked, directory_name, typed_partition_errors
from lakemerge.engine.spark.record_planning import overriding
from lakemerge.kernel import HiveColumn

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Readers that count days in Parquet before 1582-10-15 in the calendar of Java's older classes; Hive 3.1 does not.
_OLD_CALENDAR = ("hive2", "hive4")
_REBASING = ("spark.sql.parquet.datetimeRebaseModeInWrite", "spark.sql.parquet.int96RebaseModeInWrite")


def writer_options(file_format: str, codec: str) -> dict[str, str]:
    """How data files are written, as Spark's options."""
    options = {"compression": codec, "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false"}
    if (file_format, codec) == ("orc", "zstd"):
        # takes a fifth less CPU than ORC's default level and makes no larger files
        options["orc.compression.zstd.level"] = "1"
    return options


@dataclass(frozen=True)
class DataFiles:
    """The files of a table.

    Attributes:
        file_format: ``orc`` or ``parquet``.
        codec: how they are compressed, by Spark's name.
        size: bytes that one should have.
        readers: the model's ``reader_compatibility``.
        properties: what else the model's tblproperties say of files of this format.
    """

    file_format: str
    codec: str
    size: int
    readers: str = "current"
    properties: Mapping[str, str] = field(default_factory=dict)

    def of_side_data(self, spark: SparkSession) -> DataFiles:
        """Files of side data that is not like the rows: ORC, with the table's own codec where the table is ORC too."""
        if self.file_format == "orc":
            return self
        codec = default_codec(spark, "orc", self.readers)
        return replace(self, file_format="orc", codec=codec, properties={})

    def write(self, frame: DataFrame, directory: str, partitions: Sequence[HiveColumn] = ()) -> None:
        """Write the rows of a frame below a directory, with a folder for each partition.

        Args:
            partitions: the partition columns; the last ones of the frame.

        Raises:
            PartitionValueTooLong: a value of a partition column is too long for a directory's name.
        """
        settings = {
            # AQE measures shuffled rows, which take about twice the room of the files made of them
            "spark.sql.adaptive.advisoryPartitionSizeInBytes": f"{2 * self.size}b",
            # without it Hive's own reader cannot read decimals in Parquet
            "spark.sql.parquet.writeLegacyFormat": "true",
        }
        if self.readers in _OLD_CALENDAR:
            # the files say so to Spark
            settings |= dict.fromkeys(_REBASING, "LEGACY")
        # files have all names in lower case: Hive looks for its own columns in them
        lower = [name.lower() for name in frame.columns]
        frame = frame if lower == frame.columns else frame.toDF(*lower)
        frame = checked(frame, partitions)
        for column in partitions:
            frame = frame.withColumnRenamed(column.name, directory_name(column))
        writer = frame.write.format(self.file_format).mode("append")
        given = {k: v for k, v in self.properties.items() if k.startswith(f"{self.file_format}.")}
        for name, value in {**writer_options(self.file_format, self.codec), **given}.items():
            writer = writer.option(name, value)
        if partitions:
            writer = writer.partitionBy(*(directory_name(column) for column in partitions))
        with overriding(frame.sparkSession, settings), typed_partition_errors():
            writer.save(directory)
