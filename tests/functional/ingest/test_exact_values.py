"""What is stored reads back as what the record says, from ORC and Parquet; what would not is rejected."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lakemerge.engine.ingest import ingest_plan
from lakemerge.engine.ingest.held_times import HeldTimes
from rings import of_rings

#: Types by column.
COLUMNS = {
    "id": "int",
    "d": "date",
    "t": "timestamp",
    "x": "binary",
    "f": "double",
    "r": "float",
    "n": "decimal(38,10)",
}
#: Per column: texts and what they read back as.
KEPT = {
    "d": [(day, day) for day in ("0001-01-01", "1500-03-01", "1582-10-04", "1582-10-15", "9999-12-31")],
    "t": [
        ("0001-01-01 00:00:00", "0001-01-01 00:00:00"),
        ("1582-10-04 23:59:59.999999", "1582-10-04 23:59:59.999999"),
        ("1582-10-15T00:00", "1582-10-15 00:00:00"),
        ("1969-12-31 23:59:58.999", "1969-12-31 23:59:58.999"),
        ("1969-12-31 23:59:59", "1969-12-31 23:59:59"),
        ("1969-12-31 23:59:59.000999", "1969-12-31 23:59:59.000999"),
        ("1970-01-01 00:00:00", "1970-01-01 00:00:00"),
        ("2024-02-29T10:00:00+18:00", "2024-02-28 16:00:00"),
        ("2024-02-29 10:00:00 UTC", "2024-02-29 10:00:00"),
        ("9999-12-31 23:59:59.999999", "9999-12-31 23:59:59.999999"),
    ],
    "x": [("", ""), ("AQI=", "0102"), ("AQ==", "01"), ("+/+/", "FBFFBF"), ("YWJj", "616263")],
    "f": [
        ("-0.0", "-0.0"),
        ("-0", "-0.0"),
        ("0e999", "0.0"),
        ("4.9e-324", "4.9E-324"),
        ("1.7976931348623157e308", "1.7976931348623157E308"),
        ("NaN", "NaN"),
        ("-Infinity", "-Infinity"),
    ],
    "r": [("1.00000017881393432617187499e0", "1.0000001"), ("1e-45", "1.4E-45")],
    "n": [
        ("1234567890123456789012345678.01234567890", "1234567890123456789012345678.0123456789"),
        ("1." + "0" * 60, "1.0000000000"),
        ("-0.5", "-0.5000000000"),
    ],
}
#: Per column: texts and the reason.
REJECTED = {
    "d": [(day, "bad_date") for day in ("0000-01-01", "1582-10-05", "1582-10-10", "1582-10-14")],
    "t": [
        (text, "bad_timestamp")
        for text in (
            "0000-12-31 23:59:59",
            "0001-01-01 00:00:00+01:00",
            "9999-12-31 23:59:59-01:00",
            "1582-10-05 00:00:00",
            "1582-10-14 23:59:59.999999",
            "1969-12-31 23:59:59.001",
            "1969-12-31 18:59:59.5-05:00",
            "2024-02-29 24:00:00",
            "2016-12-31T23:59:60Z",
            "2024-02-29 10:00 EST",
            "2024-02-29 10:00 Europe/Berlin",
            "2024-02-29 10:00 GMT+1",
        )
    ],
    "x": [
        (text, "malformed_value")
        for text in ("YWI", "YW Jj", "a\tb", " ", "2147483647", "AQJ=", "AR==", "=", "AQI=AQI=", "-_-_")
    ],
    "f": [
        ("1e-400", "precision_lost"),
        ("-0." + "0" * 400 + "1", "precision_lost"),
        ("1e309", "overflow"),
        ("-NaN", "malformed_value"),
        ("0e1 ", "malformed_value"),
        (".", "malformed_value"),
    ],
    "r": [("1e-46", "precision_lost"), ("3.5e38", "overflow")],
    "n": [("0.00000000001", "precision_lost"), ("1e2", "malformed_value"), ("1" + "0" * 28, "overflow")],
}


def cases(texts: dict[str, list[tuple[str, str]]]) -> list[tuple[int, str, str, str]]:
    """Number of the record, column, text and what is expected, of all of them."""
    flat = [(column, *case) for column, found in texts.items() for case in found]
    return [(number, *case) for number, case in enumerate(flat, 1)]


def delimited(number: int, column: str, text: str) -> str:
    fields = [text if name == column else "\\N" for name in COLUMNS]
    return "|".join([str(number), *fields[1:]]) + "\n"


def read_back(table: Any, column: str) -> dict[int, str]:
    """The values of a column as text, by the number of the record."""
    shown = f"hex({column})" if column == "x" else f"cast({column} as string)"
    rows = table.sql(f"select id, {shown} as shown from {{table}} where {column} is not null")
    return {row.id: row.shown for row in rows}


@pytest.fixture(scope="class")
def compiles() -> bool:
    """Spark as users have it, in the fast ring too."""
    return True


class TestDelimited:
    @pytest.mark.parametrize("form", of_rings(["orc", "parquet"], ["orc"]))
    def test_values_read_back_as_they_are_written_or_are_rejected(self, ingester: Any, form: str) -> None:
        table = ingester({"field_delimiter": "|", "file_format": form}, COLUMNS)
        table.land("kept.txt", "".join(delimited(*case[:3]) for case in cases(KEPT)))
        table.land("rejected.txt", "".join(delimited(-number, *case) for number, *case, _ in cases(REJECTED)))
        table.run()
        # the second that ORC does not tell from another one, Parquet does
        held = {"1969-12-31"} if form == "parquet" else set()
        rejected = [case for case in cases(REJECTED) if case[2][:10] not in held]
        for column in KEPT:
            kept = {number: shown for number, name, _, shown in cases(KEPT) if name == column}
            found = read_back(table, column)
            assert {number: found.get(number) for number in kept} == kept
        assert table.reasons() == [(reason, column) for _, column, _, reason in rejected]
        accepted = len(cases(KEPT)) + len(cases(REJECTED)) - len(rejected)
        assert table.sql("select count(*) from {table}") == [(accepted,)]
        texts = [row.reason_text for row in table.quarantine("reason_text, file, line")]
        assert texts[1] == 'expected date that the table can hold, found "1582-10-05"'

    @pytest.mark.slow
    def test_a_time_that_the_sessions_clock_never_showed_is_rejected(self, ingester: Any) -> None:
        columns = {"id": "int", "t": "timestamp", "d": "date"}
        table = ingester({"field_delimiter": "|"}, columns)
        table.land(
            "a.txt",
            "1|2024-03-31 02:30:00|\\N\n2|2024-03-31 03:30:00|\\N\n3|2024-10-27 02:30:00|\\N\n"
            "4|2024-03-31 02:30:00Z|\\N\n5|2024-03-31 02:59|\\N\n",
        )
        with table.settings({"spark.sql.session.timeZone": "Europe/Berlin"}):
            table.run()
        assert [row[0] for row in table.rows("id")] == [2, 3, 4]
        assert table.reasons() == 2 * [("bad_timestamp", "t")]
        formats = {
            "timestamp_format": "dd.MM.yyyy HH:mm",
            "date_format": "dd.MM.yyyy",
            "field_delimiter": "|",
        }
        table = ingester(formats, columns)
        table.land(
            "a.txt",
            "1|30.12.2011 10:00|\\N\n2|31.12.2011 10:00|31.12.2011\n3|\\N|30.12.2011\n4|\\N|10.10.1582\n",
        )
        # where no 30 December 2011 was
        with table.settings({"spark.sql.session.timeZone": "Pacific/Apia"}):
            table.run()
        assert [row[0] for row in table.rows("id")] == [2]
        assert table.reasons() == [("bad_timestamp", "t"), *2 * [("bad_date", "d")]]

    @pytest.mark.parametrize(
        "zone", of_rings(["America/New_York", "Europe/Berlin", "Asia/Kolkata"], ["Europe/Berlin"])
    )
    def test_what_orc_holds_is_known_of_any_zone_of_java(
        self, project: Any, tmp_path: Path, zone: str
    ) -> None:
        adapter = project.adapter
        with adapter.connection_named("zones"):
            spark, java = adapter.handle.spark, adapter.handle.application.jvm.java
            zones = java.java.util.TimeZone
            before = zones.getDefault()
            zones.setDefault(zones.getTimeZone(zone))
            try:
                times = HeldTimes.of(spark, java, "orc")
                edges = {edge for hole in times.holes for edge in hole}
                assert len(edges) >= 4
                # every quarter of an hour of some days, and around each edge
                near = {edge + step for edge in edges for step in (-1_000_000, -1, 0, 1, 1_000_000)}
                near |= {edge + quarter * 900_000_000 for edge in edges for quarter in range(-120, 120)}
                rows = [(micros,) for micros in sorted(near)]
                frame = spark.createDataFrame(rows, "micros bigint").selectExpr(
                    "micros", "timestamp_micros(micros) as at"
                )
                frame.write.orc(str(tmp_path / "files"))
                spark.read.orc(str(tmp_path / "files")).createOrReplaceTempView("stored")
                wrong = spark.sql(
                    f"select micros from stored where ({times.timestamp_sql('timestamp_micros(micros)')})"
                    " <> (unix_micros(at) = micros)"
                ).collect()
            finally:
                zones.setDefault(before)
        assert wrong == []


@pytest.mark.slow
class TestJson:
    def test_numbers_are_judged_and_shown_as_they_are_written(self, ingester: Any) -> None:
        columns = {
            **COLUMNS,
            "many": "array<double>",
            "both": "struct<a:double,b:decimal(4,2),c:string>",
            "by_name": "map<string,float>",
        }
        table = ingester({"format": "json", "missing_fields": "null"}, columns)
        numbers = {name: [case for case in KEPT[name] if case[0][-1].isdigit()] for name in ("f", "r", "n")}
        nested = [
            ("many", "[-0.0, 1, 1e2]", '{"v":[-0.0,1.0,100.0]}'),
            ("both", '{"a": -0.0, "b": 1.' + "0" * 50 + ', "c": "-0"}', '{"v":{"a":-0.0,"b":1.00,"c":"-0"}}'),
            ("by_name", '{"x": -0.0, "y": null}', '{"v":{"x":-0.0,"y":null}}'),
        ]
        kept = [*((name, *case) for name, found in numbers.items() for case in found), *nested]
        bad = [
            ("id", "1.0", "malformed_value", "expected int, found 1.0"),
            ("id", "1e0", "malformed_value", "expected int, found 1e0"),
            ("f", "1e400", "overflow", "expected double, found 1e400"),
            ("f", "-1e-400", "precision_lost", "expected double, found -1e-400"),
            ("f", '"1"', "wrong_type", 'expected double, found "1"'),
            ("n", "1e2", "malformed_value", "expected decimal(38,10), found 1e2"),
            (
                "n",
                "1.2345678901234569e27",
                "malformed_value",
                "expected decimal(38,10), found 1.2345678901234569e27",
            ),
            ("n", "0.12345678901", "precision_lost", "expected decimal(38,10), found 0.12345678901"),
            ("many", "[1e-400]", "wrong_type", "expected array<double>, found [1e-400]"),
            ("both", '{"a": 1e2, "b": 1e2, "c": ""}', "wrong_type", None),
            ("d", '"1582-10-10"', "bad_date", 'expected date that the table can hold, found "1582-10-10"'),
            ("t", '"1969-12-31 23:59:59.5"', "bad_timestamp", None),
            ("x", '"YWI"', "malformed_value", 'expected binary, found "YWI"'),
            ("f", "1.", "malformed_json", "it is not one JSON object"),
            ("f", "01", "malformed_json", "it is not one JSON object"),
        ]
        table.land(
            "a.json", "".join(f'{{"id": {n}, "{c}": {text}}}\n' for n, (c, text, _) in enumerate(kept, 1))
        )
        table.land("b.json", "".join(f'{{"{c}": {text}}}\n' for c, text, *_ in bad))
        table.run()
        for number, (column, _, shown) in enumerate(kept, 1):
            json_sql = f"to_json(struct({column} as v), map('ignoreNullFields', 'false'))"
            sql = f"cast({column} as string)" if column in COLUMNS else json_sql
            assert table.sql(f"select {sql} from {{table}} where id = {number}") == [(shown,)]
        found = table.quarantine("reason, column_name, reason_text, file, line")
        expected = [(reason, None if reason == "malformed_json" else column) for column, _, reason, _ in bad]
        assert [(row.reason, row.column_name) for row in found] == expected
        for row, (*_, text) in zip(found, bad, strict=True):
            assert text in (None, row.reason_text)

    @pytest.mark.slow
    @pytest.mark.parametrize("many", [0, 100], ids=["many fields", "some fields"])
    def test_what_is_dropped_may_hold_a_name_twice(
        self, ingester: Any, monkeypatch: pytest.MonkeyPatch, many: int
    ) -> None:
        monkeypatch.setattr(ingest_plan, "_MANY_FIELDS", many)
        table = ingester(
            {"format": "json", "extra_fields": "drop", "missing_fields": "null"},
            {"id": "int", "name": "string", "at": "struct<a:int>"},
        )
        records = [
            '{"id":1,"name":"x","other":{"a":1,"a":2}}',
            '{"id":2,"name":null,"other":[{"a":1,"a":2}],"at":{"a":3}}',
            '{"id":3,"other":"\\ud800"}',
            '{"id":4,"other":1,"other":2}',
            '{"id":5,"other":' + "1" * 1200 + "}",
            '{"id":6,"at":{"a":1,"a":2}}',
            '{"id":7,"at":{"a":1,"b":{"c":1,"c":2}}}',
            '{"id":8,"id":9,"other":{"a":1,"a":2}}',
            '{"id":10,"name":"\\udc00"}',
            '{"id":11,"other":{"a":1,"a":2}} {}',
            '{"id":12,"other":{"a":1,"a":2}',
        ]
        table.land("a.json", "\n".join(records))
        table.run()
        assert table.rows("id, name, at.a") == [
            (1, "x", None),
            (2, None, 3),
            (3, None, None),
            (4, None, None),
        ]
        found = table.quarantine("reason, reason_text, file, line")
        assert [(row.reason, row.reason_text) for row in found] == [
            ("malformed_json", "a number in it has a thousand digits"),
            *2 * [("duplicate_field", "a name stands twice in an object of it")],
            ("duplicate_field", "a field stands in it twice"),
            ("malformed_json", "half of a character stands in it"),
            *2 * [("malformed_json", "it is not one JSON object")],
        ]
        table.model["config"]["extra_fields"] = "reject"
        table.land("b.json", json.dumps({"id": 20}) + "\n" + '{"id":21,"other":{"a":1,"a":2}}\n')
        table.run()
        assert table.quarantine("reason, file, line")[-1].reason == "extra_field"


class TestTypedFiles:
    @pytest.mark.slow
    def test_dates_that_the_tables_files_cannot_hold_are_rejected(self, ingester: Any) -> None:
        columns = {"id": "int", "d": "date", "t": "timestamp", "n": "timestamp", "a": "array<struct<d:date>>"}
        table = ingester({"format": "parquet"}, columns)
        folder = table.folder / "_made"
        with table.adapter.connection_named("maker"):
            spark = table.adapter.handle.spark
            spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
            spark.sql(
                "select id, date(d) as d, timestamp(t) as t, cast(n as timestamp_ntz) as n,"
                " array(named_struct('d', date(a))) as a from values"
                " (1, '1582-10-04', '1970-01-01', '2024-03-31 01:59:00', '2024-01-01'),"
                " (2, '1582-10-10', '1970-01-01', '2024-01-01', null),"
                " (3, '2024-01-01', '1969-12-31 23:59:59.5Z', '2024-01-01', null),"
                " (4, '2024-01-01', null, '2024-03-31 02:30:00', null),"
                " (5, '2024-01-01', null, null, '1582-10-10') as made (id, d, t, n, a)"
            ).coalesce(1).write.parquet(str(folder))
        (file,) = folder.glob("*.parquet")
        table.land("a.parquet", file.read_bytes())
        with table.settings({"spark.sql.session.timeZone": "Europe/Berlin"}):
            table.run()
        assert [row[0] for row in table.rows("id")] == [1]
        assert table.reasons() == [
            ("bad_date", "d"),
            ("bad_timestamp", "t"),
            ("bad_timestamp", "n"),
            ("precision_lost", "a"),
        ]


@pytest.mark.slow
class TestHeader:
    def test_a_header_is_read_as_strictly_as_records(self, ingester: Any) -> None:
        relaxed = {"extra_fields": "drop", "missing_fields": "null"}
        table = ingester({"header": True, **relaxed}, {"id": "int", "name": "string"})
        refused = {
            "a.csv": b'id,"name\n1,x\n',
            "b.csv": b'id,na"me\n1,x\n',
            "c.csv": b"id,n\xe4me\n1,x\n",
            "d.csv": b"\n1,x\n",
            "e.csv": b"1,x\n2,y\n",
            "f.csv": b"id,name,ID\n1,x,2\n",
        }
        for name, content in refused.items():
            table.land(name, content)
        table.land("g.csv", b'\xef\xbb\xbf "ID" , x"\n1,a\n')
        table.land("h.csv", b'\xef\xbb\xbf"ID" ,\tname \r\n1,a\r\n')
        table.land("i.csv", b"\xef\xbb\xbfNAME,more,id,,\nb,x,2,,\n")
        table.land("j.csv", b"")
        table.land("k.csv", b"id,name\n")
        response = table.run()
        assert table.rows() == [(2, "b")]
        assert response.files == len(refused) + 4
        found = table.quarantine("reason, reason_text, file, line")
        quotes = "a quote in the header is not closed, or stands in a name that is not quoted"
        assert [(row.reason, row.reason_text) for row in found] == [
            *2 * [("bad_header", quotes)],
            ("bad_header", "the bytes of the header are not UTF-8"),
            ("bad_header", "no column is among the fields that the file names: "),
            ("bad_header", "no column is among the fields that the file names: 1, x"),
            ("duplicate_field", "the file names id, name, id"),
            *2 * [("bad_header", quotes)],
        ]
        assert table.replay().version == 0
        assert len(table.quarantine()) == len(found)
        # what was empty has not been read, so that its content is no change
        table.land("j.csv", "id,name\n3,c\n")
        response = table.run()
        assert (response.inserted, response.changed) == (1, 0)
