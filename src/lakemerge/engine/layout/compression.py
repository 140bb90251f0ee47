"""Which codec files are compressed with: a table keeps its own, so that whoever could read it still can."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from py4j.protocol import Py4JJavaError

from lakemerge.kernel import FileSystem, Layout, Manifest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: The property of a table that names the codec of the files that programs write to it, by format.
CODEC = {"orc": "orc.compress", "parquet": "parquet.compression"}


def declared_codec(properties: Mapping[str, str], file_format: str) -> str:
    """The codec that a table's properties name, in lower case; empty where they name none."""
    return properties.get(CODEC[file_format], "").strip().lower()


def default_codec(spark: SparkSession, file_format: str, readers: str) -> str:
    """The codec of the session's settings. Spark's own are zstd for ORC and snappy for Parquet.

    Args:
        readers: the model's ``reader_compatibility``. Hive before release 4 knows no zstd in ORC.
    """
    if file_format == "orc" and readers in ("hive2", "hive3"):
        return "zlib"
    return str(spark.conf.get(f"spark.sql.{file_format}.compression.codec")).lower()


def stored_codec(spark: SparkSession, files: FileSystem, layout: Layout, manifest: Manifest) -> str:
    """The codec of one of a version's files, as its footer says; empty where there is no file or it is unreadable."""
    for state in manifest.partitions.values():
        if not state.files:
            continue
        for entry in files.list(layout.absolute(state.location)):
            if not entry.is_directory and entry.size and entry.name[:1] not in "_.":
                return _codec_of(spark, entry.path, manifest.file_format)
    return ""


def _codec_of(spark: SparkSession, path: str, file_format: str) -> str:
    java = spark._jvm
    assert java is not None
    conf = spark._jsparkSession.sessionState().newHadoopConf()
    place = java.org.apache.hadoop.fs.Path(path)
    try:
        if file_format == "orc":
            orc = java.org.apache.orc.OrcFile
            with_orc = orc.createReader(place, orc.readerOptions(conf))
            try:
                return str(with_orc.getCompressionKind().toString()).lower()
            finally:
                with_orc.close()
        parquet = java.org.apache.parquet.hadoop
        with_parquet = parquet.ParquetFileReader.open(parquet.util.HadoopInputFile.fromPath(place, conf))
        try:
            blocks = with_parquet.getFooter().getBlocks()
            if not blocks.size():
                return ""
            return str(blocks.get(0).getColumns().get(0).getCodec().toString()).lower()
        finally:
            with_parquet.close()
    except Py4JJavaError:
        return ""  # whatever is wrong with the file, reading its rows reports it better
