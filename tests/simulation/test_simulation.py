"""Some dozen seeds of each world in every run of the tests, ten minutes' worth in the slow ring.

In processes of their own: a run replays only where Python's hashes of texts, and so the order of sets, are the same.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from simulation.seeds import (
    BESIDE,
    CHANGING,
    CONDITIONAL,
    FORKING,
    GROUPS,
    NARROW,
    OVERLAID,
    PARTIAL,
    RARE,
    REFUSING,
    RESTORING,
    SERVED,
    SERVED_GROUPS,
    SLEPT,
    STAGED,
)

TESTS = Path(__file__).parents[1]
ENVIRONMENT = {**os.environ, "PYTHONHASHSEED": "0", "PYTHONPATH": str(TESTS)}


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "simulation", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=ENVIRONMENT)


@pytest.mark.parametrize(
    ("first", "seeds"),
    [
        (0, 150),
        (OVERLAID, 50),
        (PARTIAL, 50),
        (NARROW, 50),
        (SLEPT, 50),
        (RARE, 50),
        (GROUPS, 50),
        (STAGED, 40),
        (SERVED, 100),
        (SERVED_GROUPS, 25),
        (REFUSING, 50),
        (BESIDE, 25),
        (FORKING, 50),
        (CHANGING, 50),
        (RESTORING, 50),
        (CONDITIONAL, 50),
        pytest.param(150, 20_000, marks=pytest.mark.slow),
        pytest.param(OVERLAID + 50, 5_000, marks=pytest.mark.slow),
        pytest.param(PARTIAL + 50, 5_000, marks=pytest.mark.slow),
        pytest.param(NARROW + 50, 5_000, marks=pytest.mark.slow),
        pytest.param(SLEPT + 50, 5_000, marks=pytest.mark.slow),
        pytest.param(RARE + 50, 5_000, marks=pytest.mark.slow),
        pytest.param(GROUPS + 50, 10_000, marks=pytest.mark.slow),
        pytest.param(STAGED + 40, 5_000, marks=pytest.mark.slow),
        pytest.param(SERVED + 100, 10_000, marks=pytest.mark.slow),
        pytest.param(SERVED_GROUPS + 25, 5_000, marks=pytest.mark.slow),
        pytest.param(REFUSING + 50, 5_000, marks=pytest.mark.slow),
        pytest.param(BESIDE + 25, 5_000, marks=pytest.mark.slow),
        pytest.param(FORKING + 50, 5_000, marks=pytest.mark.slow),
        pytest.param(CHANGING + 50, 5_000, marks=pytest.mark.slow),
        pytest.param(RESTORING + 50, 5_000, marks=pytest.mark.slow),
        pytest.param(CONDITIONAL + 50, 5_000, marks=pytest.mark.slow),
    ],
)
def test_no_schedule_breaks_an_invariant(first: int, seeds: int) -> None:
    done = run("--first", str(first), "--seeds", str(seeds))
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    print(done.stdout)


def test_a_seed_replays() -> None:
    """The same calls in the same order, with the same faults."""
    one, other = (run("--first", "7", "--seeds", "3", "--show").stdout for _ in range(2))
    schedule, again = (text.rpartition("\n3 seeds")[0] for text in (one, other))
    assert len(schedule.splitlines()) > 300
    assert schedule == again


def test_a_failing_seed_is_made_small_and_replays_alone() -> None:
    """Whoever has no part in it is left out: here one of the writers at least, and what other programs do."""
    mutant = ("--mutant", "late-swap-unmended")
    failed = run(*mutant, "--first", "600", "--seeds", "200")
    assert failed.returncode == 1
    (command,) = [line for line in failed.stdout.splitlines() if line.startswith("replay: ")]
    (error,) = [line for line in failed.stdout.splitlines() if line.startswith("shrunk: ")]
    first, cut = re.fullmatch(r"replay: make simulate FIRST=(\d+) SEEDS=1 CUT='(.*)'", command).groups()  # type: ignore[union-attr]
    replayed = run(*mutant, "--first", first, "--seeds", "1", "--cut", cut)
    assert error in replayed.stdout
    actors = re.findall(r"^  (\w+ ?\d*): ", replayed.stdout, re.MULTILINE)
    assert {actor.partition(" ")[0] for actor in actors} <= {"writer", "reader", "upkeep"}
    assert any(part.startswith("writer") for part in json.loads(cut)["without"])
    assert run("--first", first, "--seeds", "1").returncode == 0, "without the mutant"
