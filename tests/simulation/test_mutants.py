"""Known faults that are put back into the code: the simulator finds each."""

from __future__ import annotations

import pytest

from simulation.mutants import MUTANTS, SOURCES, seeds_needed


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_mutant_changes_the_code_of_today(mutant: str) -> None:
    fault = MUTANTS[mutant]
    text = (SOURCES / "lakemerge" / f"{fault.module.replace('.', '/')}.py").read_text()
    assert text.count(fault.old) == 1
    assert fault.old != fault.new


@pytest.mark.parametrize(
    "mutant",
    [
        pytest.param(
            name,
            marks=() if name in ("claim-without-compare", "ledger-unread") else pytest.mark.slow,
        )
        for name in MUTANTS
    ],
)
def test_every_mutant_is_found(mutant: str) -> None:
    seeds, seen = seeds_needed(mutant, 20_000)
    assert seeds is not None, seen
    print(f"{mutant}: {seeds} seeds; {seen}")
