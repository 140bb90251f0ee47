"""What each format accepts, and why the rest is rejected."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pytest
from dbt_common.exceptions import CompilationError, DbtRuntimeError

from rings import of_rings

COLUMNS = {"id": "int", "name": "string", "price": "decimal(6,2)", "on_day": "date"}


class TestDelimited:
    @pytest.mark.slow
    def test_records_become_rows_or_reasons(self, ingester: Any) -> None:
        table = ingester({"null_literal": ""}, COLUMNS)
        table.land(
            "a.csv",
            "1,x,1.50,2024-02-29\n"
            "2,,,\n"
            '3,"a, ""b""",-1,2024-01-01\n'
            "4,x,1.505,2024-01-01\n"
            "99999999999,x,1,2024-01-01\n"
            "6,x,123456,2024-01-01\n"
            "7,x,1,2024-02-30\n"
            "8,x,1\n"
            "9,x,1,2024-01-01,more\n"
            '10,"x,1,2024-01-01\n'
            " 11,x,1,2024-01-01\n"
            "12,x,1,2024-1-1\n"
            "13,x,1.2e1,2024-01-01\n"
            "1x,x,y,z\n",
        )
        response = table.run()
        assert table.rows() == [
            (1, "x", Decimal("1.50"), datetime.date(2024, 2, 29)),
            (2, None, None, None),
            (3, 'a, "b"', Decimal("-1.00"), datetime.date(2024, 1, 1)),
        ]
        assert table.reasons() == [
            ("precision_lost", "price"),
            ("overflow", "id"),
            ("overflow", "price"),
            ("bad_date", "on_day"),
            ("missing_field", None),
            ("extra_field", None),
            ("malformed_quotes", None),
            ("malformed_value", "id"),
            ("bad_date", "on_day"),
            ("malformed_value", "price"),
            ("malformed_value", "id"),
        ]
        assert (response.inserted, response.quarantined, response.files) == (3, 11, 1)
        last = table.quarantine()[-1]
        assert (last.record, last.line, last.batch) == ("1x,x,y,z", 14, 1)
        assert [problem.column_name for problem in last.problems] == ["id", "price", "on_day"]
        assert last.file.endswith("/a.csv")

    @pytest.mark.slow
    def test_header_says_the_order_of_the_fields(self, ingester: Any) -> None:
        table = ingester({"header": True, "quote": ""}, {"id": "int", "name": "string"})
        table.land("a.csv", "NAME,id\nx,1\ny,no\n")
        table.land("b.csv", "id,name\r\n2,z\r\n")
        table.land("c.csv", "id\n3\n")
        table.land("d.csv", "id,name,more\n4,z,z\n")
        table.run()
        assert table.rows() == [(1, "x"), (2, "z")]
        assert [(row.line, row.reason, row.record) for row in table.quarantine()] == [
            (3, "malformed_value", "y,no"),
            (2, "missing_field", "3"),
            (2, "extra_field", "4,z,z"),
        ]
        table.model["config"] |= {"missing_fields": "null", "extra_fields": "drop"}
        assert table.replay().inserted == 2
        assert table.rows() == [(1, "x"), (2, "z"), (3, None), (4, "z")]
        assert [row.record for row in table.quarantine()] == ["y,no"]

    @pytest.mark.slow
    def test_records_end_where_the_options_say_and_empty_ones_are_left_out(self, ingester: Any) -> None:
        options = {"line_delimiter": "|\n", "skip_empty_lines": True}
        table = ingester(options, {"id": "int", "name": "string"})
        table.land("a.csv", '1,a|\n|\n2,"b\nc"|\n3,d\n|\n4,e|f|\n5,e,e|\n')
        table.run()
        assert table.rows() == [(1, "a"), (2, "b\nc"), (3, "d\n"), (4, "e|f")]
        assert [(row.line, row.reason) for row in table.quarantine()] == [(6, "extra_field")]
        table.model["config"]["skip_empty_lines"] = False
        table.land("b.csv", "6,a|\n|\n")
        table.run()
        assert table.rows("id")[-1] == (6,)
        assert [(row.line, row.reason) for row in table.quarantine()][1:] == [(2, "missing_field")]

    @pytest.mark.slow
    def test_collections_by_delimiters_of_their_own(self, ingester: Any) -> None:
        columns = {
            "id": "int",
            "tags": "array<int>",
            "prices": "map<string,decimal(4,1)>",
            "at": "struct<x:int,y:int>",
        }
        delimiters = {"collection_delimiter": "|", "map_key_delimiter": ":", "field_delimiter": ";"}
        table = ingester(delimiters, columns)
        table.land(
            "a.txt",
            "1;1|2|\\N;a:1.5|b:2;3|4\n2;;;1|\\N\n3;1|x;;1|2\n4;;a:1|a:2;1|2\n5;;a:1.55;1|2\n6;;;1\n7;\\N;\\N;\\N\n",
        )
        table.run()
        assert [
            (row.id, row.tags, row.prices, row.at and tuple(row.at))
            for row in table.sql("select id, tags, prices, at from {table} order by id")
        ] == [
            (1, [1, 2, None], {"a": Decimal("1.5"), "b": Decimal("2.0")}, (3, 4)),
            (2, [], {}, (1, None)),
            (7, None, None, None),
        ]
        assert table.reasons() == [
            ("malformed_value", "tags"),
            *2 * [("malformed_value", "prices")],
            ("malformed_value", "at"),
        ]

    def test_escapes_quotes_and_null_literals(self, ingester: Any) -> None:
        table = ingester({"escape": "\\"}, {"id": "int", "name": "string"})
        table.land("a.csv", '1,a\\,b\n2,"a\\"b"\n3,"\\\\N"\n4,\\N\n5,"a""b"\n6,a"b\n')
        table.run()
        assert table.rows() == [(1, "a,b"), (2, 'a"b'), (3, "\\N"), (4, None), (5, 'a"b')]
        assert table.reasons() == [("malformed_quotes", None)]

    def test_every_type_is_read_and_checked(self, ingester: Any) -> None:
        columns = {
            "i": "tinyint",
            "f": "float",
            "d": "double",
            "b": "boolean",
            "t": "timestamp",
            "x": "binary",
            "c": "varchar(3)",
        }
        table = ingester({"null_literal": ""}, columns)
        table.land(
            "a.csv",
            "127,1.5,1e300,TRUE,2024-01-01 10:00:00.123456,AQI=,abc\n"
            "128,,,,,,\n,1e39,,,,,\n,,1e400,,,,\n,,1.0d,,,,\n,,0x1p3,,,,\n,,,yes,,,\n,,,1,,,\n"
            ",,,,2024-01-01,,\n,,,,2024-01-01 10:00:00.1234567,,\n,,,,,A*I=,\n,,,,,,abcd\n",
        )
        table.run()
        assert table.rows() == [
            (
                127,
                1.5,
                1e300,
                True,
                datetime.datetime(2024, 1, 1, 10, 0, 0, 123456),
                bytearray(b"\x01\x02"),
                "abc",
            )
        ]
        assert table.reasons() == [
            ("overflow", "i"),
            ("overflow", "f"),
            ("overflow", "d"),
            *2 * [("malformed_value", "d")],
            *2 * [("malformed_value", "b")],
            *2 * [("bad_timestamp", "t")],
            ("malformed_value", "x"),
            ("too_long", "c"),
        ]

    @pytest.mark.slow
    def test_bad_bytes_and_a_truncated_end_are_kept_as_they_are(self, ingester: Any) -> None:
        table = ingester({}, {"id": "int", "name": "string"})
        table.land("a.csv", b"1,\xc3\xa9\n2,\xff\xfe\n3,cut")
        table.run()
        assert table.rows() == [(1, "é")]
        assert table.reasons() == [("bad_encoding", None), ("truncated_record", None)]
        assert [row.record_bytes for row in table.quarantine()] == [bytearray(b"2,\xff\xfe"), None]
        table.model["config"] |= {"encoding": "ISO-8859-1", "unterminated_last_record": "accept"}
        assert table.replay().inserted == 2
        assert table.rows() == [(1, "é"), (2, "ÿþ"), (3, "cut")]
        assert table.quarantine() == []

    @pytest.mark.slow
    def test_bytes_that_are_no_text_are_found_in_every_field(self, ingester: Any) -> None:
        columns = {"id": "int", "name": "string", "tags": "array<string>", "code": "varchar(3)"}
        table = ingester({}, columns)
        sound = ["1,\ufffd,a\x02\ufffd,\ufffd", '2,"a ""\ufffd""",b,c', "3,\U0001f600,é,ü", "4,\\N,\\N,\\N"]
        bad = [
            b"5\xff,x,y,z",
            b"6,\xed\xa0\x80,y,z",
            b'7,"a\xe2\x82",y,z',
            b"8,x,y\x02\xf0\x9f\x98,z",
            b"9,x,y,\x80",
        ]
        table.land("a.csv", b"\n".join([*(text.encode() for text in sound), *bad, b""]))
        table.run()
        assert table.rows() == [
            (1, "\ufffd", ["a", "\ufffd"], "\ufffd"),
            (2, 'a "\ufffd"', ["b"], "c"),
            (3, "\U0001f600", ["é"], "ü"),
            (4, None, None, None),
        ]
        assert table.reasons() == [("bad_encoding", None)] * len(bad)
        assert [bytes(row.record_bytes) for row in table.quarantine()] == bad

    @pytest.mark.slow
    def test_bytes_that_are_no_text_do_not_pass_for_a_null_literal(self, ingester: Any) -> None:
        table = ingester({"null_literal": "\ufffd"}, {"id": "int", "name": "string"})
        table.land("a.csv", b"1,\xff\n2,\xef\xbf\xbd\n")
        table.run()
        assert table.rows() == [(2, None)]
        assert table.reasons() == [("bad_encoding", None)]

    def test_constraints_reject_records(self, ingester: Any) -> None:
        table = ingester({}, {"id": "int", "name": "string"})
        table.model["columns"]["id"]["constraints"] = [
            {"type": "not_null"},
            {"type": "check", "expression": "id > 0", "name": "positive"},
        ]
        table.land("a.csv", "1,x\n\\N,y\n-1,z\n")
        table.run()
        assert table.rows() == [(1, "x")]
        assert [(row.reason, row.reason_text) for row in table.quarantine()] == [
            ("constraint_violated", "not_null_id"),
            ("constraint_violated", "positive"),
        ]


class TestJson:
    def test_records_become_rows_or_reasons(self, ingester: Any) -> None:
        columns = {
            **COLUMNS,
            "tags": "array<string>",
            "more": "struct<a:int,b:struct<c:string>>",
            "by_name": "map<string,bigint>",
        }
        table = ingester({"format": "json"}, columns)
        rest = '"tags":["x",null],"more":{"a":1,"b":{"c":"z"}},"by_name":{"k":1}'
        nulls = '"name":null,"price":null,"on_day":null,"tags":null,"more":null,"by_name":null'
        table.land(
            "a.json",
            f'{{"id":1,"name":"x","price":1.5,"on_day":"2024-01-01",{rest}}}\n'
            f'{{"id":2,{nulls}}}\n'
            f'{{"id":"3",{nulls}}}\n{{"id":3.0,{nulls}}}\n{{"id":99999999999,{nulls}}}\n'
            f'{{"id":6}}\n{{"id":7,{nulls},"other":1}}\n{{"id":8,"id":8,{nulls}}}\n'
            f'{{"id":9,{nulls}\n[1]\n{{"id":10,{nulls}}} {{}}\n'
            f'{{"id":13,{nulls}}}],[{{"id":14}}\n{{"id":15,{nulls}}} ] and more\n{{"id":16,{nulls}}}}}\n'
            + '{"id":11,"name":5,"price":1.505,"on_day":"x","tags":[1],"more":{"a":1},"by_name":{"k":"v"}}\n'
            + '{"id":12,"name":"","price":"2.50","on_day":null,"tags":[],"more":{"a":null,"b":null},"by_name":{}}\n',
        )
        table.run()
        found = [
            (row.id, row.price, row.tags, row.more and row.more.asDict(True), row.by_name)
            for row in table.sql("select * from {table} order by id")
        ]
        assert found == [
            (1, Decimal("1.50"), ["x", None], {"a": 1, "b": {"c": "z"}}, {"k": 1}),
            (2, None, None, None, None),
            (12, Decimal("2.50"), [], {"a": None, "b": None}, {}),
        ]
        assert table.reasons() == [
            ("wrong_type", "id"),
            ("malformed_value", "id"),
            ("overflow", "id"),
            ("missing_field", None),
            ("extra_field", None),
            ("duplicate_field", None),
            *6 * [("malformed_json", None)],
            ("wrong_type", "name"),
        ]
        problems = table.quarantine()[-1].problems
        assert [(problem.reason, problem.column_name) for problem in problems] == [
            ("wrong_type", "name"),
            ("precision_lost", "price"),
            ("bad_date", "on_day"),
            ("wrong_type", "tags"),
            ("wrong_type", "more"),
            ("wrong_type", "by_name"),
        ]
        table.model["config"] |= {"missing_fields": "null", "extra_fields": "drop"}
        assert table.replay().inserted == 2
        assert [row[0] for row in table.rows("id")] == [1, 2, 6, 7, 12]


@pytest.mark.slow
class TestHeader:
    @pytest.mark.parametrize(
        ("header", "reason", "relaxed"),
        [("id,name,more", "extra_field", "extra_fields"), ("id", "missing_field", "missing_fields")],
    )
    def test_a_header_that_is_wrong_rejects_each_record(
        self, ingester: Any, header: str, reason: str, relaxed: str
    ) -> None:
        """Spark knows before it reads such a file that it has no row; its records are counted all the same."""
        table = ingester({"format": "delimited", "header": True}, {"id": "int", "name": "string"})
        values = ",".join(["1", "a", "x"][: header.count(",") + 1])
        table.land("only.csv", f"{header}\n{values}\n{values}\n")
        table.run()
        assert table.rows() == []
        assert table.reasons() == 2 * [(reason, None)]
        table.model["config"] |= {relaxed: "drop" if relaxed == "extra_fields" else "null"}
        assert table.replay().inserted == 2
        assert table.rows() == 2 * [(1, "a" if reason == "extra_field" else None)]


class TestRegex:
    def test_the_pattern_must_match_the_whole_record(self, ingester: Any) -> None:
        pattern = r"(\S+) \[([^\]]*)\] (\d+|-)"
        table = ingester(
            {
                "format": "regex",
                "pattern": pattern,
                "null_literal": "-",
                "timestamp_format": "dd/MMM/yyyy:HH:mm:ss",
            },
            {"host": "string", "at": "timestamp", "status": "smallint"},
        )
        table.land("access.log", "a [01/Feb/2024:10:00:00] 200\nb [x] 1\nc [01/Feb/2024:10:00:00] -\nd 5\n")
        table.run()
        at = datetime.datetime(2024, 2, 1, 10)
        assert table.rows() == [("a", at, 200), ("c", at, None)]
        assert table.reasons() == [("bad_timestamp", "at"), ("no_match", None)]

    def test_groups_are_as_many_as_columns(self, ingester: Any) -> None:
        table = ingester({"format": "regex", "pattern": "(a)(b)"}, {"a": "string"})
        with pytest.raises(CompilationError, match="2 groups"):
            table.run()


class TestTypedFiles:
    @pytest.mark.parametrize("form", of_rings(["orc", "parquet"], ["parquet"]))
    def test_types_must_fit_without_loss(self, ingester: Any, form: str) -> None:
        table = ingester({"format": form}, {"id": "int", "price": "decimal(4,1)", "name": "string"})

        def land(name: str, sql: str) -> None:
            folder = table.folder / f"_{name}"
            table.sql(f"insert overwrite directory '{folder}' using {form} {sql}")
            (file,) = folder.glob(f"*.{form}")
            table.land(f"{name}.{form}", file.read_bytes())

        land("a", "select 1 as id, 1.5bd as price, 'x' as name")
        land("b", "select explode(array(2L, 99999999999L)) as id, 1.55bd as price, 'y' as name")
        land("c", "select 3S as id, 2bd as price, 'z' as name, 1 as other")
        land("d", "select 'four' as id, 2bd as price, 'z' as name")
        table.run()
        assert table.rows() == [(1, Decimal("1.5"), "x")]
        assert table.reasons() == [
            ("precision_lost", "price"),
            ("overflow", "id"),
            ("extra_field", None),
            ("wrong_type", None),
        ]
        table.model["columns"]["price"]["data_type"] = "decimal(6,2)"
        table.model["config"] |= {"on_schema_change": "sync_all_columns", "extra_fields": "drop"}
        table.run()
        assert table.replay("reason <> 'wrong_type'").inserted == 2
        assert [row[0] for row in table.rows("id")] == [1, 2, 3]
        assert table.reasons() == [("overflow", "id"), ("wrong_type", None)]

    def test_avro_without_sparks_package_for_it_is_reported(self, ingester: Any) -> None:
        table = ingester({"format": "avro"}, {"id": "int"})
        table.land("a.avro", b"Obj")
        with pytest.raises(
            DbtRuntimeError, match=r"ConnectorMissing: .*org.apache.spark:spark-avro_2\.1[23]:[34]"
        ):
            table.run()
