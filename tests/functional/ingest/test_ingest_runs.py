"""Which files a run reads, what limits it, and what becomes of rejected records."""

from __future__ import annotations

import datetime
import os
import time
from typing import Any

import pytest
from dbt_common.exceptions import CompilationError, DbtRuntimeError

from rings import of_rings

COLUMNS = {"id": "int", "name": "string"}


class TestFiles:
    def test_each_file_is_read_once(self, ingester: Any) -> None:
        table = ingester({"max_files": 2, "record_columns": ["_file", "_line", "_batch"]}, COLUMNS)
        for number in range(3):
            table.land(f"{number}.csv", f"{number},a\n{number}0,b\n")
        assert (table.run().files, table.run().files) == (2, 1)
        assert table.run().version == 0
        assert table.sql(
            "select id, _line, _batch, substring_index(_file, '/', -1) as f from {table} order by f, _line"
        ) == [
            (0, 1, 1, "0.csv"),
            (0, 2, 1, "0.csv"),
            (1, 1, 1, "1.csv"),
            (10, 2, 1, "1.csv"),
            (2, 1, 2, "2.csv"),
            (20, 2, 2, "2.csv"),
        ]
        assert table.history()[0]["metrics"]["files"] == 1

    def test_another_run_may_make_the_view_of_reasons_at_the_same_moment(self, ingester: Any) -> None:
        table = ingester({}, COLUMNS)
        view = f"{table.relation.schema}.{table.name}_of_two_runs"
        with table.adapter.connection_named("one"):
            for _ in range(2):
                table.adapter.ingest.create_view_once(f"create view {view} as select 1 as id")
            with pytest.raises(DbtRuntimeError, match="PARSE_SYNTAX_ERROR"):
                table.adapter.ingest.create_view_once("create view of nothing")
        assert table.sql(f"select id from {view}") == [(1,)]

    def test_unfinished_files_are_left(self, ingester: Any) -> None:
        table = ingester({"settle_seconds": 60, "done_marker": "*.done"}, COLUMNS)
        table.land("a.csv", "1,a\n")
        table.land("a.csv.done", "")
        table.land("b.csv", "2,a\n")
        table.land("c.csv.tmp", "3,a\n")
        young = table.land("d.csv", "4,a\n")
        table.land("d.csv.done", "")
        os.utime(young, (time.time(), time.time()))
        for path in table.folder.glob("[abc]*"):
            os.utime(path, (time.time() - 100, time.time() - 100))
        table.run()
        assert table.rows() == [(1, "a")]

    def test_changed_file_is_told_and_read_again_only_if_asked(self, ingester: Any) -> None:
        table = ingester({}, COLUMNS)
        table.land("a.csv", "1,a\n")
        table.run()
        table.land("a.csv", "1,a\n2,b\n")
        response = table.run()
        assert (response.changed, response.version) == (1, 0)
        table.model["config"]["on_changed_file"] = "fail"
        with pytest.raises(DbtRuntimeError, match="FileChanged"):
            table.run()
        table.model["config"]["on_changed_file"] = "reread"
        assert table.run().inserted == 2
        assert table.run().version == 0
        assert table.rows() == [(1, "a"), (1, "a"), (2, "b")]

    def test_names_that_look_like_globs_or_are_compressed(self, ingester: Any) -> None:
        import gzip
        from urllib.parse import unquote

        table = ingester({"landing": "", "record_columns": ["_file"]}, COLUMNS)
        table.model["config"]["landing"] = f"{table.folder}/day=*/*"
        path = table.land("day=1/a [x]{y}*,%20 é.csv", "1,a\n")
        table.land("day=2/b.csv.gz", gzip.compress(b"2,a\nx,b"))
        table.land("other/c.csv", "3,a\n")
        table.run()
        assert table.rows() == [(1, "a"), (2, "a")]
        assert table.reasons() == [("malformed_value", "id")]
        assert table.quarantine()[0].line == 2
        (row,) = table.sql("select _file from {table} where id = 1")
        assert row._file.endswith(",%2520%20é.csv")
        assert unquote(row._file).endswith(str(path))

    def test_a_missing_landing_folder_is_an_error(self, ingester: Any) -> None:
        table = ingester({}, COLUMNS)
        table.model["config"]["landing"] = f"{table.folder}/none"
        with pytest.raises(DbtRuntimeError, match="landing folder"):
            table.run()

    def test_a_file_that_cannot_be_read_stops_the_run_and_is_named(self, ingester: Any) -> None:
        import gzip

        table = ingester({}, COLUMNS)
        table.land("good.csv", "1,a\n")
        cut = table.land("cut.csv.gz", gzip.compress(b"2,a\n" * 10000)[:-20])
        with pytest.raises(DbtRuntimeError, match=r"UnreadableFile.*cut\.csv\.gz"):
            table.run()
        cut.unlink()
        table.run()
        assert table.rows() == [(1, "a")]

    @pytest.mark.slow
    def test_full_refresh_reads_everything_again(self, ingester: Any) -> None:
        table = ingester({}, COLUMNS)
        table.land("a.csv", "1,a\nx,b\n")
        table.run()
        table.run(rebuild=True)
        assert table.rows() == [(1, "a")]
        assert len(table.quarantine()) == 1

    @pytest.mark.slow
    def test_lines_are_right_in_files_of_many_splits(self, ingester: Any) -> None:
        table = ingester({"record_columns": ["_line"], "header": True}, COLUMNS)
        lines = [f"{n},{'x' * (n % 50)}" if n % 7 else f"bad{n}," for n in range(2, 400)]
        table.land("a.csv", "id,name\n" + "\n".join(lines) + "\n")
        with table.settings({"spark.sql.files.maxPartitionBytes": "300b"}):
            table.run()
        assert [(row.line, row.record) for row in table.quarantine()] == [
            (n, f"bad{n},") for n in range(2, 400) if n % 7 == 0
        ]
        assert all(row.id == row._line for row in table.sql("select id, _line from {table}"))


class TestPartitions:
    def test_values_of_records_and_constants(self, ingester: Any) -> None:
        table = ingester(
            {
                "partition_by": ["source", "country"],
                "partition_values": {"source": "shop"},
                "null_literal": "-",
            },
            {"id": "int", "source": "string", "country": "string"},
        )
        table.land("a.csv", "1,IN\n2,-\n3,\n4,a/b=c\n")
        table.run()
        assert table.rows("id, source, country") == [
            (1, "shop", "IN"),
            (2, "shop", None),
            (3, "shop", None),
            (4, "shop", "a/b=c"),
        ]
        partitions = [row[0] for row in table.sql("show partitions {table}")]
        assert "source=shop/country=__HIVE_DEFAULT_PARTITION__/_commit=1" in partitions
        assert len(partitions) == 3

    @pytest.mark.parametrize(
        ("kind", "value"),
        [
            ("int", "x"),
            ("int", 2**31),
            ("int", " 1"),
            ("int", 10**5000),
            ("int", True),
            ("decimal(4,2)", "1.005"),
            ("double", "1e400"),
            ("date", "2026-02-30"),
            ("date", "1582-10-10"),
            ("timestamp", "2026-01-01 25:00"),
            ("boolean", "yes"),
            ("varchar(2)", "abc"),
            ("string", False),
            ("string", 1.10),
            ("string", ["a"]),
            ("array<string>", "a"),
        ],
        ids=lambda value: str(value)[:20] if not isinstance(value, int) else f"{value:x}"[:20],
    )
    def test_a_constant_that_its_column_cannot_hold_is_refused(
        self, ingester: Any, kind: str, value: Any
    ) -> None:
        table = ingester({"partition_values": {"k": value}, "landing": "/none"}, {"id": "int", "k": kind})
        with pytest.raises(CompilationError, match=r"partition_values.*found k: "):
            table.run()

    @pytest.mark.parametrize("value", [None, "", "__HIVE_DEFAULT_PARTITION__"])
    def test_a_constant_of_a_partition_is_not_null(self, ingester: Any, value: str | None) -> None:
        given = {"partition_by": ["K"], "partition_values": {"k": value}, "landing": "/none"}
        with pytest.raises(CompilationError, match=r"found k: .*null in the name of a partition"):
            ingester(given, {"id": "int", "k": "string"}).run()

    def test_constants_of_each_type_are_held(self, ingester: Any) -> None:
        kinds = {
            "i": ("int", 7),
            "d": ("decimal(4,2)", "1.50"),
            "f": ("double", 0.1),
            "b": ("boolean", True),
            "t": ("timestamp", "2026-01-01 12:00:00"),
            "y": ("date", datetime.date(2026, 1, 2)),
            "s": ("string", ""),
            "n": ("string", None),
            "x": ("binary", "AQI="),
        }
        config = {
            "partition_by": ["y", "i"],
            "partition_values": {name: value for name, (_, value) in kinds.items()},
            "date_format": "dd/MM/yyyy",
        }
        table = ingester(config, {"id": "int", **{name: kind for name, (kind, _) in kinds.items()}})
        table.land("a.csv", "1\n")
        table.run()
        columns = ", ".join(f"cast({name} as string)" for name in "idfbtysn")
        assert table.rows(f"{columns}, hex(x)") == [
            ("7", "1.50", "0.1", "true", "2026-01-01 12:00:00", "2026-01-02", "", None, "0102")
        ]


@pytest.mark.slow
class TestBadRecords:
    @pytest.mark.parametrize(
        "bad", of_rings([3, 6000], [3]), ids=["few", "more than have marks of their own"]
    )
    def test_every_rejected_record_is_kept_whatever_their_number(self, ingester: Any, bad: int) -> None:
        table = ingester({}, COLUMNS)
        # each stands there twice, so that one mark is that of several records
        lines = [f"x{number},b\n{number},a\nx{number},b\n" for number in range(bad)]
        table.land("a.csv", "".join(lines))
        table.land("b.csv", "1,a\n")
        response = table.run()
        assert (response.inserted, response.quarantined) == (bad + 1, 2 * bad)
        kept = sorted((row["record"], row["line"]) for row in table.quarantine())
        assert kept == sorted((f"x{number},b", 3 * number + at) for number in range(bad) for at in (1, 3))

    def test_above_a_limit_nothing_is_committed(self, ingester: Any) -> None:
        table = ingester({"max_bad_fraction": 0.4}, COLUMNS)
        table.land("a.csv", "1,a\nx,b\n")
        with pytest.raises(
            DbtRuntimeError, match=r"(?s)BadRecords.*1 of 2.*a.csv:2: malformed_value in id.*x,b"
        ):
            table.run()
        table.model["config"]["max_bad_fraction"] = 0.5
        assert table.run().quarantined == 1

    def test_fail_and_drop(self, ingester: Any) -> None:
        table = ingester({"on_bad_record": "fail"}, COLUMNS)
        table.land("a.csv", "1,a\nx,b\n")
        with pytest.raises(DbtRuntimeError, match="BadRecords"):
            table.run()
        table.model["config"]["on_bad_record"] = "drop"
        assert table.run().dropped == 1
        assert table.quarantine() == []

    def test_replay_moves_each_record_once(self, ingester: Any) -> None:
        table = ingester({}, COLUMNS)
        table.land("a.csv", "1,a\n2,b,c\n")
        table.run()
        table.land("b.csv", "3,b,c\nx,b\n")
        table.run()
        assert table.replay().version == 0
        table.model["config"]["extra_fields"] = "drop"
        assert table.replay("file like '%b.csv'").inserted == 1
        assert [(row.record, row.replays) for row in table.quarantine()] == [("2,b,c", 0), ("x,b", 1)]
        assert table.replay().inserted == 1
        assert table.replay().version == 0
        assert table.rows() == [(1, "a"), (2, "b"), (3, "b")]
        table.model["columns"]["id"]["data_type"] = "string"
        table.model["config"]["on_schema_change"] = "sync_all_columns"
        table.run()
        assert table.replay().inserted == 1
        assert table.quarantine() == []
        assert table.rows()[-1] == ("x", "b")

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "config",
        [{}, {"file_format": "parquet"}, {"file_format": "parquet", "partition_by": "name"}],
        ids=["orc", "parquet", "partitions"],
    )
    def test_a_replay_after_a_change_of_types_writes_all_rows_anew(
        self, ingester: Any, config: dict[str, Any]
    ) -> None:
        table = ingester({**config, "on_schema_change": "sync_all_columns"}, COLUMNS)
        table.land("a.csv", "1,a\n2,b\nx,b\n")
        table.run()
        table.land("b.csv", "3,c\n")
        table.run()
        table.model["columns"]["id"]["data_type"] = "string"
        assert table.replay().inserted == 1
        assert table.rows() == [("1", "a"), ("2", "b"), ("3", "c"), ("x", "b")]
        assert table.quarantine() == []
        assert table.history()[0]["metrics"]["inserted"] == 1

    @pytest.mark.slow
    def test_many_batches_are_folded_into_one_folder(self, ingester: Any) -> None:
        table = ingester({}, COLUMNS)
        for number in range(22):
            table.land(f"{number:02}.csv", f"bad{number},x\n")
            table.run()
        assert [row.record for row in table.quarantine()] == [f"bad{number},x" for number in range(22)]
        name = f"{table.relation.render()}__quarantine".replace("`", "")
        assert len(table.sql(f"show partitions {name}")) == 2

    def test_a_table_that_has_the_quarantines_name_is_left_alone(self, ingester: Any) -> None:
        table = ingester({}, COLUMNS)
        name = f"{table.relation.schema}.{table.name}__quarantine"
        table.sql(f"create table {name} stored as orc as select 1 as mine")
        table.land("a.csv", "x,a\n")
        with pytest.raises(DbtRuntimeError, match="UnsupportedTable"):
            table.run()
        assert table.sql(f"select * from {name}") == [(1,)]

    @pytest.mark.slow
    def test_drop_takes_the_quarantine_along(self, ingester: Any) -> None:
        table = ingester({}, COLUMNS)
        table.land("a.csv", "x,a\n")
        table.run()
        assert len(table.quarantine()) == 1
        table.drop()
        assert table.quarantine() == []
        table.run()
        assert len(table.quarantine()) == 1
        table.sql("drop table {table}")  # which knows nothing of the quarantine
        table.run()
        assert len(table.quarantine()) == 1


class TestConfig:
    @pytest.mark.parametrize(
        ("config", "reported"),
        [
            ({"landing": []}, "landing must name"),
            ({"format": "xml"}, "format must be one of"),
            ({"format": "json", "quote": "'"}, "quote has no meaning"),
            ({"quote": ","}, "must differ"),
            ({"encoding": "UTF-16"}, "encoding must be one of"),
            ({"format": "regex"}, "needs a pattern"),
            ({"max_bad_fraction": 2}, "from 0 to 1"),
            ({"record_columns": ["_path"]}, "record_columns may be"),
            ({"partition_values": {"nope": 1}}, "no column"),
            ({"partition_values": {"name": "a", "NAME": "b"}}, "names a column twice"),
            ({"unique_key": "id"}, "unique_key"),
        ],
    )
    def test_wrong_options_are_named(self, ingester: Any, config: dict[str, Any], reported: str) -> None:
        with pytest.raises(CompilationError, match=reported):
            ingester(config, COLUMNS).run()
