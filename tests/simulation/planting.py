"""``python -m simulation.planting``: plant each mutant of :mod:`simulation.planted`, and see who notices.

First one run of the unchanged code notes which tests and which seeds reach each site (``--reach``). The unit tests are
then collected once, with those of tests/kernel/contract that run in memory. Each mutant has a forked process of its
own, in which a few seeds that reach its site are run, tests that do, those first that reach little else, and more
seeds, until one of them fails. What nobody notices is printed.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import json
import logging
import os
import random
import signal
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from simulation.planted import Functions, Planted, all_mutants, note, plant
from simulation.run import simulate
from simulation.seeds import WORLDS

ROOT = Path(__file__).parents[2]
STORE = ROOT / "build" / "mutants"
#: Mutants that were looked at and change nothing that anybody could see: module, what is done, statement, why.
EQUIVALENTS = Path(__file__).with_name("equivalents.tsv")
#: The tests that run in memory, once those on a JVM are left out.
UNITS = (
    "tests/unit/kernel",
    "tests/unit/consumer",
    "tests/unit/writer",
    "tests/kernel/contract",
    "-k",
    "not jvm",
)
#: A mutant counts as one that never ends after these CPU seconds, after so many for a seed, after so many times what a
#: test takes, and after so many seconds whatever it does.
_CPU, _CPU_OF_A_SEED, _CPU_OF_A_TEST, _LIMIT = 6, 0.3, 4, 600
#: Seeds that are remembered of a site.
_KEPT = 400
_QUIET = ("-q", "-s", "-p", "no:cacheprovider", "-p", "no:xdist")


def key(site: str, value: bool | None) -> str:
    """How a site with a value of its condition is stored."""
    return f"{site} {value}"


# -- who reaches what --------------------------------------------------------------------------


def reach_by_seeds(count: int, first: int) -> None:
    """Run seeds of all worlds, and store which of them reach what."""
    now: set[str] = set()
    note(lambda site, value: now.add(key(site, value)))
    found: dict[str, list[int]] = defaultdict(list)
    for number in range(count):
        for world in WORLDS:
            now.clear()
            if not simulate(seed := world + first + number).error:
                for one in now:
                    if len(found[one]) < _KEPT:
                        found[one].append(seed)
    _store("seeds", found)


class _Noting:
    """A plugin of pytest that notes what each test reaches, and how long it takes."""

    def __init__(self) -> None:
        self.now: set[str] = set()
        self.found: dict[str, list[tuple[float, str]]] = defaultdict(list)

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.when == "call" and report.passed:
            for one in self.now:
                self.found[one].append((round(report.duration, 3), report.nodeid))
        if report.when == "teardown":
            self.now.clear()


def reach_by_units() -> None:
    """Run the unit tests, and store which of them reach what."""
    plugin = _Noting()
    note(lambda site, value: plugin.now.add(key(site, value)))
    pytest.main([*_QUIET, *UNITS], plugins=[plugin])
    _store("units", {one: sorted(tests) for one, tests in plugin.found.items()})


def _store(name: str, found: dict[str, Any]) -> None:
    STORE.mkdir(parents=True, exist_ok=True)
    (STORE / f"{name}.json").write_text(json.dumps(found))


# -- one mutant, in a process of its own -------------------------------------------------------


def _run_seeds(seeds: list[int]) -> str:
    """The first seed that fails, and how; empty where none does."""
    logging.getLogger("lakemerge").setLevel(logging.CRITICAL)  # unit tests look at what is logged
    signal.setitimer(signal.ITIMER_PROF, _CPU + _CPU_OF_A_SEED * len(seeds))
    for number, seed in enumerate(seeds, 1):
        if error := simulate(seed).error:
            return f"{number} seeds ({seed}): {error}"
    logging.getLogger("lakemerge").setLevel(logging.NOTSET)
    return ""


class _Failures:
    """A plugin of pytest that notes which tests fail."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.names.append(report.nodeid.rpartition("/")[2])


def _run_units(tests: list[pytest.Item], seconds: float) -> str:
    """The first unit test that fails; empty where none does. Without a mutant, all take so many seconds."""
    failures = _Failures()
    signal.setitimer(signal.ITIMER_PROF, _CPU + _CPU_OF_A_TEST * seconds)
    for test, following in itertools.zip_longest(tests, tests[1:]):
        test.config.pluginmanager.register(failures)
        test.config.hook.pytest_runtest_protocol(item=test, nextitem=following)
        test.config.pluginmanager.unregister(failures)
        if failures.names:
            return failures.names[0]
    return ""


def _alone(work: Callable[[], tuple[str, str]]) -> tuple[str, str]:
    """What some work finds in a forked process: who notices a mutant, and what is seen."""
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        signal.alarm(_LIMIT)
        try:
            found = work()
        except BaseException as error:  # noqa: BLE001 - whatever it is, the mutant has been noticed
            found = "error", f"{type(error).__name__}: {error}"
        os.write(writing, json.dumps([found[0], found[1][:500]]).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        answer = pipe.read().decode()
    _, status = os.waitpid(pid, 0)
    if not os.WIFEXITED(status):
        return "endless", f"ended by signal {os.WTERMSIG(status)}"
    who, seen = json.loads(answer)
    return who, seen


def equivalents(mutants: list[Planted]) -> dict[Planted, str]:
    """Those of some mutants that change nothing that anybody could see, each with why.

    They are known by their statements: a line's number changes with every change above it.
    """
    lines = (line.split("\t") for line in EQUIVALENTS.read_text().splitlines())
    known = {(module, kind, text): why for module, kind, text, why in lines}
    found = {one: known.get((one.module, one.kind, one.text)) for one in mutants}
    return {one: why for one, why in found.items() if why is not None}


# -- all of them -------------------------------------------------------------------------------


class Hunt:
    """A plugin of pytest that looks for whoever notices mutants, instead of running the tests that are collected."""

    def __init__(self, args: argparse.Namespace) -> None:
        self._args = args
        self._equivalents = equivalents(all_mutants())
        self._seeds = json.loads((STORE / "seeds.json").read_text())
        self._units = json.loads((STORE / "units.json").read_text())
        #: How many sites, with a value of their conditions, each test reaches.
        self._breadths = Counter(test for tests in self._units.values() for _, test in tests)
        self._functions = Functions()
        self._tests: dict[str, pytest.Item] = {}

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Called with all tests collected."""
        self._tests = {test.nodeid: test for test in session.items}
        gc.freeze()  # a forked process copies less
        _hunt(self, self._args)
        return True

    def _chosen(self, name: str) -> tuple[list[str], float]:
        """Tests that reach a site, those first that reach little else, and how long they take together."""
        known = [
            (self._breadths[test], took, test)
            for took, test in self._units.get(name, [])
            if test in self._tests
        ]
        chosen: list[str] = []
        seconds = 0.0
        for _, took, test in sorted(known):
            if seconds + took <= self._args.seconds or not chosen:
                chosen.append(test)
                seconds += took
        return chosen, seconds

    def killer(self, mutant: Planted) -> tuple[str, str]:
        """Who notices a mutant (``seeds``, ``unit``, ``nobody``, ``unreached``), and what is seen."""
        name = key(mutant.site, mutant.needs)
        seeds = self._seeds.get(name, [])
        random.Random(name).shuffle(seeds)  # from all worlds
        names, seconds = self._chosen(name)
        if not seeds and not names:
            return "unreached", ""
        few, many = self._args.few, self._args.many

        def work() -> tuple[str, str]:
            plant(mutant, self._functions)
            if seen := _run_seeds(seeds[:few]):
                return "seeds", seen
            if seen := _run_units([self._tests[one] for one in names], seconds):
                return "unit", seen
            if seen := _run_seeds(seeds[few:many]):
                return "seeds", seen
            return "nobody", f"{min(len(seeds), many)} seeds, {len(names)} tests"

        who, seen = _alone(work)
        if who == "nobody" and mutant in self._equivalents:
            return "equivalent", self._equivalents[mutant]
        return who, seen


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--reach", choices=("seeds", "units"), help="only note who reaches what, and store it"
    )
    parser.add_argument("--reach-seeds", type=int, default=250, help="how many of each world")
    parser.add_argument("--first", type=int, default=0, help="the first of them")
    parser.add_argument("--few", type=int, default=15, help="seeds before the unit tests")
    parser.add_argument("--many", type=int, default=_KEPT, help="seeds in all")
    parser.add_argument("--seconds", type=float, default=5, help="how long the tests of a mutant may take")
    parser.add_argument("--only", default="", help="mutants whose names contain this")
    parser.add_argument("--sample", type=float, default=1.0, help="the share of mutants that is planted")
    parser.add_argument(
        "--again", type=Path, help="the survivors of a report; what is found of them is added"
    )
    parser.add_argument(
        "--report", type=Path, default=STORE / "report.tsv", help="is added to; known ones are skipped"
    )
    args = parser.parse_args()
    if args.reach == "seeds":
        logging.getLogger("lakemerge").setLevel(logging.CRITICAL)
        reach_by_seeds(args.reach_seeds, args.first)
        return 0
    if args.reach == "units":
        reach_by_units()
        return 0
    return int(pytest.main([*_QUIET, *UNITS], plugins=[Hunt(args)]))


def _hunt(hunt: Hunt, args: argparse.Namespace) -> None:
    mutants = [one for one in all_mutants() if args.only in one.name]
    known = dict(_read(args.report))
    if args.again:
        left = {name for name, who in dict(_read(args.again)).items() if who in ("nobody", "unreached")}
        mutants = [one for one in mutants if one.name in left]
        known = {name: who for name, who in known.items() if name not in left}
    # in any order, so that a run that is ended early is a sample
    mutants = random.Random(0).sample(mutants, round(len(mutants) * args.sample))
    mutants = [one for one in mutants if one.name not in known]
    began = time.monotonic()
    counts: Counter[str] = Counter(known.values())
    args.report.parent.mkdir(parents=True, exist_ok=True)
    with args.report.open("a") as report:
        for mutant in mutants:
            who, seen = hunt.killer(mutant)
            counts[who] += 1
            print(
                "\t".join((mutant.name, who, seen[:160].replace("\t", " "), mutant.text)),
                file=report,
                flush=True,
            )
            if who in ("nobody", "unreached"):
                print(f"{mutant.name}: {who} {seen}: {mutant.text}", flush=True)
    print(f"{sum(counts.values())} mutants: {dict(counts)}, {time.monotonic() - began:.0f} s")


def _read(path: Path) -> list[tuple[str, str]]:
    lines = path.read_text().splitlines() if path.exists() else []
    return [(name, who) for name, who, *_ in (line.split("\t") for line in lines)]


if __name__ == "__main__":
    sys.exit(main())
