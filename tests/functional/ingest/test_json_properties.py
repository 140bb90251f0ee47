"""Of drawn records of JSON, those that keep the rules become rows with the very values, the others are quarantined."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest
from pyspark.sql import Row

from functional.ingest.drawn_json import COLUMNS, ddl, line_of, row_of
from rings import of_rings

RECORDS = 400


def plain(value: Any) -> Any:
    """A value as Python tells it from others: -0.0 is not 0.0, and 1 is not true."""
    if isinstance(value, Row):
        value = value.asDict()
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    return [plain(one) for one in value] if isinstance(value, list) else repr(value)


class TestDrawnJson:
    @pytest.mark.parametrize("seed", of_rings([*range(10)], [0]))
    def test_sound_records_become_rows(self, ingester: Any, seed: int) -> None:
        extra, missing = ("reject", "reject") if seed % 2 else ("drop", "null")
        draw = Random(seed)
        lines = [line_of(draw) for _ in range(RECORDS)]
        rules = {"extra_fields": extra, "missing_fields": missing, "record_columns": ["_line"]}
        table = ingester({"format": "json", **rules}, {name: ddl(kind) for name, kind in COLUMNS.items()})
        table.land("drawn.json", "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogatepass"))
        table.run()
        columns = ", ".join(COLUMNS)
        found = {row["_line"]: row.asDict() for row in table.sql(f"select _line, {columns} from {{table}}")}
        expected = {number: row_of(line, extra, missing) for number, line in enumerate(lines, 1)}
        sound = {number: row for number, row in expected.items() if row is not None}
        assert 50 < len(sound) < RECORDS - 50, "both kinds are drawn"
        wrong = {
            line: (found.get(number), expected[number])
            for number, line in enumerate(lines, 1)
            if plain(found.get(number) and {name: found[number][name] for name in COLUMNS})
            != plain(expected[number])
        }
        assert not wrong, "\n".join(
            f"{line}\n  found    {one}\n  expected {other}" for line, (one, other) in wrong.items()
        )
        rejected = [row.line for row in table.quarantine("file, line")]
        assert rejected == sorted(set(expected) - set(sound))


class TestBigJson:
    def test_no_record_ends_the_run(self, ingester: Any) -> None:
        """Java would, for one that makes it recurse too deep."""
        table = ingester({"format": "json"}, {"id": "int", "s": "string", "v": "array<struct<a:int>>"})
        sound = [
            {"id": 1, "s": '"\\\n' * 300_000, "v": []},
            {"id": 2, "s": "x" * 3_000_000, "v": []},
            {"id": 3, "s": "", "v": [{"a": number} for number in range(50_000)]},
        ]
        bad = [
            '"id":4,"s":"' + '\\"' * 300_000 + '\\ud800","v":[]',
            '"id":5,"s":"","v":[' + '{"a":1},' * 50_000 + '{"a":1,"a":2}]',
            '"id":6,"s":"","v":' + "[" * 900 + "]" * 900,
            '"id":7,"s":"","v":' + '{"a":' * 900 + "1" + "}" * 900,
            '"id":8,"s":"","v":' + '{"a":' * 200 + "1" + "}" * 200,
            '"id":9,"s":"","v":' + '{"a":' * 199 + "1" + "}" * 199,
        ]
        table.land("sound.json", "".join(f"{json.dumps(record)}\n" for record in sound))
        table.land("wrong.json", "".join(f"{{{record}}}\n" for record in bad))
        table.run()
        assert table.rows("id, length(s), size(v)") == [(1, 900_000, 0), (2, 3_000_000, 0), (3, 0, 50_000)]
        found = table.quarantine("reason, left(reason_text, 56) as text")
        assert found == [
            ("malformed_json", "half of a character stands in it"),
            ("duplicate_field", "a name stands twice in an object of it"),
            *3 * [("malformed_json", "it is nested more than 200 levels deep")],
            ("wrong_type", 'expected array<struct<a:int>>, found {"a":{"a":{"a":{"a"'),
        ]

    @pytest.mark.slow
    def test_collections_in_collections(self, ingester: Any) -> None:
        kind, value = "int", "1"
        for _ in range(8):
            kind, value = f"array<struct<a:{kind},b:string>>", f'[{{"a":{value},"b":"x"}}]'
        table = ingester({"format": "json"}, {"id": "int", "v": kind})
        table.land("a.json", f'{{"id":1,"v":{value}}}\n{{"id":2,"v":{value.replace("1", "[]")}}}\n')
        table.run()
        assert table.rows("id, to_json(v)") == [(1, value)]
        assert table.reasons() == [("wrong_type", "v")]
