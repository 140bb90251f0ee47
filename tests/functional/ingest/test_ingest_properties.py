"""Whatever arrives, breaks, repeats, coincides or dies: each record is once in the table or once in quarantine."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from examples import OFTEN
from lakemerge.kernel import Kernel
from lakemerge.kernel.ports.system import SystemHost

COLUMNS = {"id": "int", "amount": "decimal(6,2)", "text": "string"}
STEPS = ("staged", "manifest written", "claimed", "side data published", "swapped", "settled")

#: What comes after the number of a record, and whether the record keeps the rules.
BODIES = [
    (',1.5,"a, b"', True),
    (",\\N,", True),
    (",1,x", True),
    (",1.555,x", False),
    (",1", False),
    (",1,x,y", False),
    (',1,"x', False),
    (",99999999,x", False),
    (",1,\udcff", False),
]
BODY = st.sampled_from(BODIES)
ACTION = st.one_of(
    st.tuples(st.just("land"), st.lists(BODY, max_size=6), st.booleans()),
    st.tuples(st.just("run"), st.integers(1, 3)),
    st.tuples(st.just("run"), st.integers(1, 3)),
    st.tuples(st.just("two at once"), st.integers(1, 3)),
    st.tuples(st.just("die"), st.sampled_from(STEPS)),
    st.tuples(st.just("replay")),
)


class Killed(BaseException):
    """Ends a run where it stands, past all handling of errors."""


@contextmanager
def dying_at(step: str) -> Iterator[None]:
    """Let every commit die at a step."""

    def die(done: str) -> None:
        if done == step:
            # what tells the transactions of a process that is alive
            SystemHost().open_here.clear()
            raise Killed(step)

    defaults = Kernel.__init__.__kwdefaults__
    assert defaults is not None
    before = defaults["step"]
    defaults["step"] = die
    try:
        yield
    finally:
        defaults["step"] = before


def play(table: Any, actions: list[tuple[Any, ...]]) -> tuple[list[str], list[str]]:
    """Do what the actions say; returns the texts of the good and of the bad records that have landed."""
    good: list[str] = []
    bad: list[str] = []
    numbers = itertools.count(1)
    for position, (kind, *details) in enumerate(actions):
        if kind == "land":
            bodies, ends = details
            lines = [(f"{next(numbers)}{body}", fine) for body, fine in bodies]
            text = "".join(f"{line}\n" for line, _ in lines)
            text = text if ends else text.removesuffix("\n")
            table.land(f"{position}.csv", text.encode(errors="surrogateescape"))
            for number, (line, fine) in enumerate(lines, 1):
                cut = number == len(lines) and not ends
                (good if fine and not cut else bad).append(line)
        elif kind == "run":
            table.model["config"]["max_files"] = details[0]
            table.run()
        elif kind == "two at once":
            table.model["config"]["max_files"] = details[0]
            with ThreadPoolExecutor(2) as pool:
                runs = [pool.submit(table.run) for _ in range(2)]
                assert all(run.result() is not None for run in runs)
        elif kind == "die":
            with dying_at(details[0]), suppress(Killed):
                table.run()
        else:
            table.replay()
    return good, bad


def check(ingester: Any, actions: list[tuple[Any, ...]], splits: int) -> None:
    table = ingester({}, COLUMNS)
    with table.settings({"spark.sql.files.maxPartitionBytes": f"{splits}b"}):
        good, bad = play(table, actions)
        table.model["config"]["max_files"] = 0
        table.run()
    try:
        assert table.run().version == 0, "a folder without new files must not make a version"
        found = sorted(str(row.id) for row in table.sql("select id from {table}"))
        assert found == sorted(line.partition(",")[0] for line in good)
        kept = sorted(row.record for row in table.quarantine())
        assert kept == sorted(line.encode(errors="surrogateescape").decode(errors="replace") for line in bad)
        places = [(row.file, row.line) for row in table.quarantine()]
        assert len(places) == len(set(places))
    finally:
        table.drop()


class TestIngestProperties:
    @given(actions=st.lists(ACTION, min_size=3, max_size=6), splits=st.sampled_from([7, 1000]))
    @settings(max_examples=3, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
    def test_each_record_once(self, ingester: Any, actions: list[tuple[Any, ...]], splits: int) -> None:
        check(ingester, actions, splits)

    @pytest.mark.slow
    @given(actions=st.lists(ACTION, min_size=3, max_size=12), splits=st.sampled_from([7, 30, 1000]))
    @settings(max_examples=3 * OFTEN, deadline=None, suppress_health_check=list(HealthCheck))
    def test_each_record_once_often(self, ingester: Any, actions: list[tuple[Any, ...]], splits: int) -> None:
        check(ingester, actions, splits)

    @pytest.mark.parametrize(
        "step",
        [pytest.param(step, marks=() if step == "claimed" else pytest.mark.slow) for step in STEPS],
    )
    def test_a_run_that_dies_at_a_step_loses_and_doubles_nothing(self, ingester: Any, step: str) -> None:
        land = [("land", BODIES, True)]
        check(ingester, [*land, ("run", 1), *[("land", BODIES[::-1], True)], ("die", step)], 1000)
