"""How files are compressed: a table keeps its codec, so that the engines that could read it still can."""

from __future__ import annotations

from typing import Any

import pytest

from lakemerge.engine.layout.compression import CODEC, stored_codec
from lakemerge.kernel import TableName

SCHEMA = "id bigint, name string, ts bigint"
CONFIG = {"unique_key": "id", "sequence_by": "ts"}


def row(key: int, ts: int = 1) -> dict[str, Any]:
    return {"id": key, "name": f"row {key}", "ts": ts}


def codecs(table: Any, file_format: str) -> tuple[str | None, str]:
    """What the table's property says, in lower case, and what its newest file has."""
    adapter = table.adapter
    with adapter.connection_named(table.name):
        kernel = adapter.operations.kernel()
        state, manifest = kernel.settled(TableName(table.relation.schema, table.relation.identifier))
        found = stored_codec(adapter.handle.spark, kernel.files, state.layout, manifest)
        said = state.table.parameters.get(CODEC[file_format])
        return said.lower() if said else None, found


def make_plain(table: Any, file_format: str, codec: str, properties: str = "") -> None:
    """A table that another program has made, with a row."""
    adapter = table.adapter
    name = table.relation.render()
    with adapter.connection_named(table.name):
        spark = adapter.handle.spark
        setting = f"spark.sql.{file_format}.compression.codec"
        before = spark.conf.get(setting)
        spark.conf.set(setting, codec)
        spark.sql(f"create table {name} ({SCHEMA}) stored as {file_format} {properties}")
        spark.sql(f"insert into {name} values (1, 'plain', 0)")
        spark.conf.set(setting, before)


@pytest.mark.slow
class TestCodecs:
    @pytest.mark.parametrize(("file_format", "codec"), [("orc", "zstd"), ("parquet", "snappy")])
    def test_a_new_table_has_the_codec_of_sparks_settings(
        self, merger: Any, file_format: str, codec: str
    ) -> None:
        table = merger({**CONFIG, "file_format": file_format}, SCHEMA)
        table.merge([row(1)])
        assert codecs(table, file_format) == (codec, codec)

    @pytest.mark.parametrize(("file_format", "codec"), [("orc", "SNAPPY"), ("parquet", "gzip")])
    def test_the_models_properties_choose_it(self, merger: Any, file_format: str, codec: str) -> None:
        config = {**CONFIG, "file_format": file_format}
        table = merger({**config, "tblproperties": {CODEC[file_format]: codec}}, SCHEMA)
        table.merge([row(1)])
        assert codecs(table, file_format) == (codec.lower(), codec.lower())

    @pytest.mark.parametrize(("file_format", "codec"), [("orc", "zlib"), ("parquet", "gzip")])
    @pytest.mark.parametrize("named", [False, True], ids=["found", "named"])
    def test_a_table_of_another_program_keeps_its_codec(
        self, merger: Any, file_format: str, codec: str, named: bool
    ) -> None:
        """Engines read it that need not know the codec of Spark's settings."""
        table = merger({**CONFIG, "file_format": file_format}, SCHEMA)
        properties = f"tblproperties ('{CODEC[file_format]}' = '{codec}')" if named else ""
        make_plain(table, file_format, codec, properties)
        assert codecs(table, file_format)[0] == (codec if named else None)
        table.merge([row(1), row(2)])
        table.merge([row(3, 2)])
        assert [one["id"] for one in table.rows()] == [1, 2, 3]
        assert codecs(table, file_format) == (codec, codec)

    @pytest.mark.parametrize(("file_format", "codec"), [("orc", "zlib"), ("parquet", "snappy")])
    def test_old_readers_get_a_codec_that_they_know(self, merger: Any, file_format: str, codec: str) -> None:
        table = merger({**CONFIG, "file_format": file_format, "reader_compatibility": "hive2"}, SCHEMA)
        table.merge([row(1)])
        assert codecs(table, file_format) == (codec, codec)

    def test_the_model_changes_the_codec_of_a_table(self, merger: Any) -> None:
        table = merger(CONFIG, SCHEMA)
        make_plain(table, "orc", "zlib")
        table.model["config"]["tblproperties"] = {"orc.compress": "SNAPPY"}
        table.merge([row(1), row(2)])
        assert codecs(table, "orc") == ("snappy", "snappy")

    def test_a_table_without_rows_gets_the_codec_of_sparks_settings(self, merger: Any) -> None:
        table = merger(CONFIG, SCHEMA)
        with table.adapter.connection_named(table.name):
            table.adapter.handle.spark.sql(f"create table {table.relation.render()} ({SCHEMA}) stored as orc")
        table.merge([row(1)])
        assert codecs(table, "orc") == ("zstd", "zstd")

    def test_deltas_are_compressed_like_the_table(self, merger: Any) -> None:
        """Whoever reads the view reads both."""
        table = merger({**CONFIG, "write_mode": "merge_on_read", "compaction": "off"}, SCHEMA)
        make_plain(table, "orc", "zlib")
        table.merge([row(1), row(2)])
        adapter = table.adapter
        with adapter.connection_named(table.name):
            kernel = adapter.operations.kernel()
            state, manifest = kernel.settled(TableName(table.relation.schema, table.relation.identifier))
            (folder,) = manifest.sidecars["deltas"]
            (entry,) = [one for one in kernel.files.walk(state.layout.absolute(folder)) if one.size]
            orc = adapter.handle.spark._jvm.org.apache.orc.OrcFile
            conf = adapter.handle.spark._jsparkSession.sessionState().newHadoopConf()
            path = adapter.handle.spark._jvm.org.apache.hadoop.fs.Path(entry.path)
            kind = orc.createReader(path, orc.readerOptions(conf)).getCompressionKind().toString()
        assert kind == "ZLIB"
