"""Files that are something else than they seem: empty, cut, in another encoding, or of other columns."""

from __future__ import annotations

import gzip
from typing import Any

import pytest
from dbt_common.exceptions import DbtRuntimeError

COLUMNS = {"id": "int", "name": "string"}
MARK = b"\xef\xbb\xbf"


@pytest.mark.slow
class TestOddFiles:
    def test_an_empty_archive_waits_until_it_is_written(self, ingester: Any) -> None:
        table = ingester({}, COLUMNS)
        table.land("a.csv.gz", b"")
        assert (table.run().files, table.rows()) == (0, [])
        table.land("a.csv.gz", gzip.compress(b"1,a\n"))
        response = table.run()
        assert (response.files, response.changed, table.rows()) == (1, 0, [(1, "a")])
        table.land("b.csv.gz", gzip.compress(b""))
        assert (table.run().files, table.rows()) == (1, [(1, "a")])

    @pytest.mark.parametrize("length", [5, 15], ids=["in its head", "in its lines"])
    @pytest.mark.parametrize("header", [False, True])
    def test_an_archive_that_is_cut_stops_the_run(self, ingester: Any, header: bool, length: int) -> None:
        table = ingester({"header": header}, COLUMNS)
        table.land("good.csv", "id,name\n1,a\n" if header else "1,a\n")
        cut = table.land("cut.csv.gz", gzip.compress(b"id,name\n2,b\n")[:length])
        with pytest.raises(DbtRuntimeError, match=r"UnreadableFile.*cut\.csv\.gz"):
            table.run()
        cut.unlink()
        table.run()
        assert table.rows() == [(1, "a")]

    def test_a_byte_order_mark_is_no_part_of_the_first_field(self, ingester: Any) -> None:
        table = ingester({}, COLUMNS)
        table.land("a.csv", MARK + b"1,a\n")
        table.land("b.csv", MARK + b'"2",b\n')
        table.land("c.csv.gz", gzip.compress(MARK + b"3,c\n"))
        table.run()
        assert (table.rows(), table.reasons()) == ([(1, "a"), (2, "b"), (3, "c")], [])

    def test_a_byte_order_mark_is_no_part_of_json(self, ingester: Any) -> None:
        table = ingester({"format": "json"}, COLUMNS)
        table.land("a.json", MARK + b'{"id": 1, "name": "a"}\n')
        table.run()
        assert (table.rows(), table.reasons()) == ([(1, "a")], [])

    @pytest.mark.parametrize("code", ["utf-16", "utf-16-le", "utf-16-be", "utf-32-le"])
    @pytest.mark.parametrize("encoding", ["UTF-8", "ISO-8859-1"])
    def test_a_file_in_utf_16_gives_no_row(self, ingester: Any, encoding: str, code: str) -> None:
        table = ingester({"encoding": encoding}, {"code": "string", "name": "string"})
        table.land("a.csv", ("a,b\nж,я\n" * 3).encode(code))
        table.run()
        assert table.rows() == []
        # the last one is cut in two by its line feed, or has none
        assert {reason for reason, _ in table.reasons()[:-1]} == {"bad_encoding"}

    def test_a_file_in_utf_16_has_no_header(self, ingester: Any) -> None:
        table = ingester({"header": True}, COLUMNS)
        table.land("a.csv", ("id,name\n" + "1,a\n2,b\n" * 3).encode("utf-16-le"))
        table.run()
        assert table.rows() == []
        assert len(table.quarantine()) >= 6

    def test_json_in_utf_16_gives_no_row(self, ingester: Any) -> None:
        table = ingester({"format": "json", "missing_fields": "null"}, {"name": "string"})
        table.land("a.json", '{"name": "a"}\n{"name": "b"}\n'.encode("utf-16-be"))
        table.run()
        assert (table.rows(), {reason for reason, _ in table.reasons()}) == ([], {"malformed_json"})

    def test_nul_characters_are_taken_where_the_model_says_so(self, ingester: Any) -> None:
        table = ingester({}, COLUMNS)
        table.land("a.csv", "1,a\0b\n2,c\n")
        table.run()
        assert (table.rows(), table.reasons()) == ([(2, "c")], [("bad_encoding", None)])
        table.model["config"]["nul_characters"] = "accept"
        assert table.replay().inserted == 1
        assert table.rows() == [(1, "a\0b"), (2, "c")]

    @pytest.mark.parametrize("more", [0, 20])
    def test_a_nul_character_before_in_or_after_any_value_makes_no_row(
        self, ingester: Any, more: int
    ) -> None:
        values = {
            "int": "12",
            "decimal(9,2)": "1.50",
            "double": "0.5",
            "date": "2026-01-01",
            "timestamp": "2026-01-01 00:00:00",
            "boolean": "true",
            "binary": "YWE=",
            "array<int>": "12",
            "string": "text",
        }
        good = [*values.values(), *["more"] * more]
        lines = [",".join(good)]
        for place, value in enumerate(values.values()):
            for position in (0, 1, len(value)):
                odd = f"{value[:position]}\0{value[position:]}"
                lines.append(",".join([*good[:place], odd, *good[place + 1 :]]))
        columns = {f"c{number}": kind for number, kind in enumerate([*values, *["string"] * more])}
        table = ingester({}, columns)
        table.land("a.csv", "\n".join(lines) + "\n")
        response = table.run()
        assert (response.inserted, response.quarantined) == (1, 3 * len(values))
        assert {reason for reason, _ in table.reasons()} == {"bad_encoding"}

    @pytest.mark.parametrize("sign", ["field_delimiter", "null_literal"])
    def test_nul_characters_may_be_signs(self, ingester: Any, sign: str) -> None:
        table = ingester({sign: "\0"}, COLUMNS)
        table.land("a.csv", "1\0a\n" if sign == "field_delimiter" else "1,\0\n")
        table.run()
        assert (table.reasons(), len(table.rows())) == ([], 1)

    @pytest.mark.parametrize("missing", ["reject", "null"])
    @pytest.mark.parametrize("form", ["orc", "parquet"])
    def test_a_typed_file_without_any_of_the_columns_gives_no_row(
        self, ingester: Any, form: str, missing: str
    ) -> None:
        table = ingester({"format": form, "missing_fields": missing, "extra_fields": "drop"}, COLUMNS)
        with table.adapter.connection_named("files"):
            frame = table.adapter.handle.spark.sql("select 1 as other, 'a' as more")
            frame.coalesce(1).write.format(form).save(f"{table.folder}/odd")
        table.model["config"]["landing"] = f"{table.folder}/odd/*.{form}"
        table.run()
        assert (table.rows(), table.reasons()) == ([], [("bad_header", None)])

    @pytest.mark.parametrize(("missing", "rows"), [("reject", []), ("null", [(None, None)])])
    def test_an_object_without_fields_is_a_row_only_where_nulls_are_asked_for(
        self, ingester: Any, missing: str, rows: list[Any]
    ) -> None:
        table = ingester({"format": "json", "missing_fields": missing}, COLUMNS)
        table.land("a.json", "{}\n")
        table.run()
        assert table.rows() == rows
        assert table.reasons() == ([] if rows else [("missing_field", None)])
