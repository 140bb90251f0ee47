"""Mutants that are planted by rule: where they are, what they change, and that somebody notices one."""

from __future__ import annotations

import os
from dataclasses import replace

from lakemerge.kernel.protocol import lease
from simulation.planted import Planted, all_mutants, mutants_of, plant
from simulation.planting import EQUIVALENTS, equivalents

_TEXT = """
def decide(value):
    if value < 0:
        raise ValueError
    if value == 1:
        value = 2
    elif value == 3:
        return 4
    if value:
        pass
    raise KeyError
"""


def test_each_guard_is_left_out_and_each_action_is_also_always_done() -> None:
    found = [(one.line, one.answer) for one in mutants_of("m", _TEXT)]
    assert sorted(found, key=str) == sorted(
        [
            (3, False),  # its raise goes with it, and is no mutant of its own
            (5, False),
            (5, True),
            (7, False),
            (9, False),
            (9, True),
            (11, None),
        ],
        key=str,
    )


def test_mutants_have_names_of_their_own() -> None:
    names = [one.name for one in all_mutants()]
    assert len(names) == len(set(names)) > 500


def test_a_planted_mutant_changes_the_functions_of_its_process_alone() -> None:
    """In a fork, as the tool does it: a condition answers otherwise, wherever the function has been imported to."""
    (one, *_) = [m for m in all_mutants() if m.module == "kernel.protocol.lease" and m.answer is False]
    codes = _codes_of_module(lease)
    assert _in_fork(lambda: (plant(one), _codes_of_module(lease) != codes)[1])
    assert _codes_of_module(lease) == codes


def test_what_a_mutant_needs_to_matter_is_the_opposite_answer() -> None:
    never = Planted("m", 3, False, "if value < 0:")
    assert (never.needs, replace(never, answer=True).needs, replace(never, answer=None).needs) == (
        True,
        False,
        None,
    )


def _codes_of_module(module: object) -> set[bytes]:
    functions = [
        one
        for holder in (module, *vars(module).values())
        for one in getattr(holder, "__dict__", {}).values()
        if hasattr(one, "__code__")
    ]
    return {one.__code__.co_code for one in functions}


def _in_fork(check: object) -> bool:
    pid = os.fork()
    if not pid:
        try:
            os._exit(0 if check() else 1)  # type: ignore[operator]
        except BaseException:  # noqa: BLE001 - the fork must not go on as a test run of its own
            os._exit(2)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def test_every_known_equivalent_is_a_mutant_of_today() -> None:
    lines = EQUIVALENTS.read_text().splitlines()
    assert len(equivalents(all_mutants())) >= len(lines)
    assert len({tuple(line.split("\t")[:3]) for line in lines}) == len(lines)
    known = {(one.module, one.text) for one in equivalents(all_mutants())}
    assert {(line.split("\t")[0], line.split("\t")[2]) for line in lines} == known
