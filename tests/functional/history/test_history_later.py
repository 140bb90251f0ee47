"""What becomes of a history when more time passes than its ledger remembers every change for."""

from __future__ import annotations

from typing import Any

import pytest
from dbt_common.exceptions import DbtRuntimeError

from lakemerge.engine.publish.side_data import SideData

from .test_history_options import FEED, SCHEMA, change, versions

#: The feed of the guide: `note` is not tracked, and a version has absorbed a change of it.
LIFE = [change(1, "rome", 10, "a@x"), change(1, "oslo", 20, "a@x"), change(1, "oslo", 25, "b@x")]


@pytest.fixture(autouse=True)
def _ledger_written_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each commit that adds to the ledger write it anew, as every tenth does; then it forgets."""
    monkeypatch.setattr(SideData, "has_many_folders", lambda *_: True)


def month_passes(table: Any) -> None:
    """Let all that the ledger holds get older than its retention, and then be written anew."""
    table.let_days_pass()
    newest = max(row["__start_at"] for row in table.rows())
    table.merge([change(99, "another", ts, f"note {ts}") for ts in (newest + 1, newest + 2)])


def ledger(table: Any, key: int = 1) -> list[tuple[Any, ...]]:
    """What is remembered of a key."""
    with table.adapter.connection_named(table.name):
        frame = table.adapter.handle.spark.read.orc(table.ledger_folders())
        rows = frame.where(f"__key_1 = {key}").selectExpr("__sequence", "__kind", "__row.note")
        return sorted(tuple(row) for row in rows.collect())


def of_key(key: int, table: Any) -> list[tuple[Any, ...]]:
    return versions(table, where=f"id = {key}")


@pytest.mark.slow
class TestAfterTheRetention:
    @pytest.mark.parametrize("months", [1, pytest.param(2, marks=pytest.mark.slow)])
    def test_a_feed_that_is_read_again_changes_nothing(self, merger: Any, months: int) -> None:
        table = merger(FEED, SCHEMA)
        feed = [*LIFE, change(1, "oslo", 22, "c@x"), change(1, "bonn", 30), change(1, "bonn", 40, "d@x")]
        table.merge(feed)
        before = of_key(1, table)
        for _ in range(months):
            month_passes(table)
            for again in (feed, feed[3:5]):
                response = table.merge(again)
                assert (response.version, response.ignored) == (0, len(again))
            assert of_key(1, table) == before
            assert ledger(table) == [(40, "watermark", "d@x")], "one change of a key is remembered for ever"

    @pytest.mark.slow
    def test_newer_changes_are_absorbed_and_split_as_ever(self, merger: Any) -> None:
        table = merger(FEED, SCHEMA)
        table.merge(LIFE)
        month_passes(table)
        table.merge([change(1, "oslo", 60, "n@x")])
        assert of_key(1, table)[1] == ("oslo", "n@x", 20, None)
        assert ledger(table) == [(25, "watermark", "b@x"), (60, "change", "n@x")]
        table.merge([change(1, "bonn", 40)])
        assert of_key(1, table)[1:] == [
            ("oslo", "b@x", 20, 40),
            ("bonn", None, 40, 60),
            ("oslo", "n@x", 60, None),
        ]
        for other in (change(1, "oslo", 60, "other"), change(1, "bonn", 20, "a@x")):
            with pytest.raises(DbtRuntimeError, match="AmbiguousChange"):
                table.merge([other])
        assert table.merge([*LIFE, change(1, "oslo", 60, "n@x")]).version == 0

    def test_late_changes_leave_the_present_as_it_is(self, merger: Any) -> None:
        rome, oslo = ("rome", "a@x"), ("oslo", "b@x")
        late = {
            1: (
                change(1, "bonn", 22),
                [(*rome, 10, 20), (*oslo, 20, 22), ("bonn", None, 22, 25), (*oslo, 25, None)],
            ),
            2: (change(2, None, 22, op="D"), [(*rome, 10, 20), (*oslo, 20, 22), (*oslo, 25, None)]),
            3: (change(3, "rome", 12, "late"), [(*rome, 10, 20), (*oslo, 20, None)]),
            4: (change(4, "oslo", 23, "late"), [(*rome, 10, 20), (*oslo, 20, None)]),
            5: (change(5, "rome", 5, "first"), [(*rome, 5, 20), (*oslo, 20, None)]),
        }
        table = merger({**FEED, "apply_as_truncates": "op = 'T'"}, SCHEMA)
        feed = [{**row, "id": key} for key in late for row in LIFE]
        changes = [row for row, _ in late.values()]
        table.merge(feed)
        month_passes(table)
        table.merge(changes)
        assert table.merge(feed).version == 0
        month_passes(table)
        assert table.merge([*changes, *feed]).version == 0
        for key, (row, expected) in late.items():
            assert of_key(key, table) == expected, row
        table.merge([{**change(0, None, 23, op="T"), "id": None}])
        assert of_key(3, table) == [(*rome, 10, 20), (*oslo, 20, 23), (*oslo, 25, None)]
        assert table.merge([*changes, *feed]).version == 0

    @pytest.mark.slow
    def test_a_delete_that_ended_nothing_is_forgotten_until_it_comes_again(self, merger: Any) -> None:
        table = merger(FEED, SCHEMA)
        table.merge([change(1, None, 20, op="D"), change(1, "rome", 30)])
        month_passes(table)
        table.merge([change(1, "oslo", 10)])
        assert of_key(1, table) == [("oslo", None, 10, 30), ("rome", None, 30, None)]
        table.merge([change(1, None, 20, op="D")])
        assert of_key(1, table) == [("oslo", None, 10, 20), ("rome", None, 30, None)]
