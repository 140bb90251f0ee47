"""Progress: what several commits say together, whatever order the runs were begun in."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from lakemerge.consumer.items import Item, Position, SourceSnapshot
from lakemerge.consumer.progress import Done, Progress
from lakemerge.consumer.working_set import Row, _line, _row


def item(number: int, version: int | None = None) -> Item:
    version = number if version is None else version
    return Item(f"_commit={number}", f"at {number}", "file:/x", 1, version, version)


def snapshot(*versions: int, initial: bool = False) -> SourceSnapshot:
    first, *others = versions
    positions = (Position(first, f"t{first}", initial), *(Position(one, f"t{one}") for one in others))
    return SourceSnapshot("id", (), positions, (), (), "orc")


def test_a_position_stays_before_what_is_pending() -> None:
    assert snapshot(3, 4, 5).position_before([]) == Position(5, "t5")
    assert snapshot(3, 4, 5).position_before([item(5)]) == Position(4, "t4")
    assert snapshot(3, 4, 5).position_before([item(4), item(5)]) == Position(3, "t3")


def test_the_beginning_lasts_until_its_own_partitions_are_processed() -> None:
    started = snapshot(3, 4, 5, initial=True)
    assert started.position_before([item(1)]) == Position(3, "t3", initial=True)
    assert started.position_before([item(3)]) == Position(3, "t3", initial=True)
    assert started.position_before([item(5)]) == Position(4, "t4")
    assert started.position_before([item(4)]) == Position(3, "t3")


def test_a_later_generation_takes_the_place_of_an_earlier_one() -> None:
    one = Progress("a", "id", Position(3, "t3"), {"p": Done("m", 4)})
    other = Progress("b", "id", Position(1, "t1"))
    assert one.then(other) == other


def test_a_run_that_began_earlier_does_not_turn_the_position_back() -> None:
    late = Progress("a", "id", Position(2, "t2"), {"_commit=3": Done("at 3", 3)})
    done = Progress("a", "id", Position(4, "t4"), {"_commit=5": Done("at 5", 5)}).then(late)
    assert done.position == Position(4, "t4")
    assert set(done.done) == {"_commit=5"}
    assert done.has_done(item(3))
    assert not done.has_done(item(6))


@given(st.permutations([2, 3, 4, 5, 6]), st.integers(0, 5))
def test_what_commits_say_together_does_not_depend_on_their_order(order: list[int], taken: int) -> None:
    """Each run takes one of the versions 2 to 6; the first of them, taken in order, moves the position on."""
    start = Progress("a", "id", Position(1, "t1"))
    whole = start
    for number in order[:taken]:
        position = Position(2, "t2") if number == 2 else Position(1, "t1")
        whole = whole.then(Progress("a", "id", position, {f"_commit={number}": Done(f"at {number}", number)}))
    assert [number for number in range(2, 7) if whole.has_done(item(number))] == sorted(order[:taken])


def test_progress_is_written_and_read() -> None:
    progress = Progress("a", "id", Position(3, "t3", True), {"p=1": Done("m", None, ("f|1|2",))})
    body = json.loads(json.dumps(progress.to_json(("db.t", "c"))))
    assert Progress.from_json(body) == progress


@given(st.text(st.characters(codec="utf-8")), st.none() | st.integers(0, 2**62))
def test_a_row_is_one_line_whatever_its_reason(reason: str, version: int | None) -> None:
    row = Row(
        "db.t", "c", "p=a\\b", version, "m", 7, "available", 1, 2, reason, "run", "2026-01-01T00:00:00+00:00"
    )
    line = _line(row)
    assert line.count("\n") == 1
    assert "\r" not in line
    found = _row(line.removesuffix("\n"))
    assert (found.partition, found.version, found.bytes) == ("p=a\\b", version, 7)
