"""Values that a change does not bring, as a database logs large ones only where they change, stay as they are."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from dbt_common.exceptions import DbtRuntimeError

from rings import of_rings

PLACEHOLDER = "__debezium_unavailable_value"
BYTES = bytearray(PLACEHOLDER.encode())
FEED = (
    "id int, doc string, photo string, raw binary, tags array<string>, numbers array<int>, large array<bigint>, "
    "parts array<binary>, store map<string,string>, note string, ts int, op string"
)
CONFIG = {
    "unique_key": "id",
    "sequence_by": "ts",
    "apply_as_deletes": "op = 'd'",
    "apply_as_truncates": "op = 't'",
    "except_column_list": ["op"],
    "unavailable_value": PLACEHOLDER,
}
MODES: dict[str, dict[str, Any]] = {
    "copy on write": {},
    "merge on read": {"write_mode": "merge_on_read"},
    "parquet, partitioned": {"file_format": "parquet", "partition_by": "note"},
}

Row = dict[str, Any]


def large(text: str) -> Row:
    """What a row holds of a text in its large columns."""
    return {
        "doc": text,
        "photo": text,
        "raw": bytearray(text.encode()),
        "tags": [text, None],
        "numbers": [len(text)],
        "large": [len(text)],
        "parts": [bytearray(text.encode())],
        "store": {"key": text},
    }


UNAVAILABLE: Row = {
    "doc": PLACEHOLDER,
    "photo": base64.b64encode(BYTES).decode(),
    "raw": BYTES,
    "tags": [PLACEHOLDER],
    "numbers": list(BYTES),
    "large": list(BYTES),
    "parts": [BYTES],
    "store": {PLACEHOLDER: PLACEHOLDER},
}
NOTHING: Row = dict.fromkeys(UNAVAILABLE)


def change(key: int | None, ts: int, values: Row, note: str | None = "n", op: str = "u") -> Row:
    return {"id": key, **values, "note": note, "ts": ts, "op": op}


def held(key: int, ts: int, values: Row, note: str | None = "n") -> Row:
    return {name: value for name, value in change(key, ts, values, note).items() if name != "op"}


@pytest.mark.parametrize("mode", of_rings(MODES, ["merge on read"]))
class TestUnavailableValues:
    def test_they_stay_and_nulls_are_nulls(self, merger: Any, mode: str) -> None:
        table = merger({**CONFIG, **MODES[mode]}, FEED)
        # of the first run too
        table.merge([change(1, 1, large("one")), change(1, 2, UNAVAILABLE), change(2, 1, large("two"))])
        assert table.rows() == [held(1, 2, large("one")), held(2, 1, large("two"))]
        repeated = [change(1, 3, UNAVAILABLE, note=None), change(2, 3, NOTHING)]
        table.merge(repeated)
        assert table.rows() == [held(1, 3, large("one"), note=None), held(2, 3, NOTHING)]
        assert table.merge(repeated).version == 0, "delivered again"
        table.merge(
            [
                change(2, 4, {**UNAVAILABLE, "doc": "new"}),
                change(2, 5, UNAVAILABLE),
                change(3, 5, {**UNAVAILABLE, "doc": "three"}),
            ]
        )
        assert table.rows()[1:] == [
            held(2, 5, {**NOTHING, "doc": "new"}),
            held(3, 5, {**NOTHING, "doc": "three"}),
        ]

    @pytest.mark.slow
    def test_they_do_not_outlive_a_delete_or_a_truncate(self, merger: Any, mode: str) -> None:
        table = merger({**CONFIG, **MODES[mode]}, FEED)
        table.merge([change(1, 1, large("one")), change(2, 1, large("two"))])
        table.merge([change(1, 2, NOTHING, op="d"), change(1, 3, large("again")), change(1, 4, UNAVAILABLE)])
        assert table.rows() == [held(1, 4, large("again")), held(2, 1, large("two"))]
        table.merge(
            [change(None, 5, NOTHING, op="t"), change(2, 6, large("last")), change(2, 7, UNAVAILABLE)]
        )
        assert table.rows() == [held(2, 7, large("last"))]


class TestOtherTables:
    @pytest.mark.slow
    def test_a_table_without_a_sequence(self, merger: Any) -> None:
        config = {**CONFIG, "sequence_by": None, "apply_as_truncates": None}
        table = merger(config, FEED)
        table.merge([change(1, 1, large("one"))])
        table.merge([change(1, 1, UNAVAILABLE, note=None)])
        assert table.rows() == [held(1, 1, large("one"), note=None)]
        assert table.merge([change(1, 1, UNAVAILABLE, note=None)]).version == 0

    def test_partial_updates_take_them_for_nulls(self, merger: Any) -> None:
        table = merger({**CONFIG, "apply_as_truncates": None, "ignore_null_updates": True}, FEED)
        table.merge([change(1, 1, large("one"))])
        table.merge([change(1, 2, {**UNAVAILABLE, "doc": None}, note=None)])
        assert table.rows() == [held(1, 2, large("one"))]

    @pytest.mark.slow
    def test_a_history_refuses_them(self, merger: Any) -> None:
        table = merger({**CONFIG, "stored_as_scd_type": 2}, FEED)
        table.merge([change(1, 1, large("one"))])
        with pytest.raises(DbtRuntimeError, match=r"UnavailableValue.*found 1 with the placeholder"):
            table.merge([change(1, 2, UNAVAILABLE), change(2, 1, large("two"))])
        assert [row["doc"] for row in table.rows()] == ["one"]

    def test_another_contradiction_is_found(self, merger: Any) -> None:
        table = merger(CONFIG, FEED)
        table.merge([change(1, 1, large("one"))])
        with pytest.raises(DbtRuntimeError, match="AmbiguousChange"):
            table.merge([change(1, 1, UNAVAILABLE, note="other")])
