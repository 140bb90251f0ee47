"""The checker of histories finds each anomaly that it is there for, and takes nothing else for one."""

from __future__ import annotations

import pytest

from simulation.histories import Anomaly, Elements, Key, Observed, check

A, B = ("id-a", "k"), ("id-b", "k")


def wrote(label: str, outcome: str = "committed", **keys: tuple[Elements, Elements]) -> Observed:
    """A transaction that read lists and appended to them: by table, what it read and what it appended."""
    by_key = {"a": A, "b": B}
    return Observed(
        label,
        appends={by_key[name]: appended for name, (_, appended) in keys.items() if appended},
        reads={by_key[name]: found for name, (found, _) in keys.items()},
        outcome=outcome,
    )


def read(label: str, after: frozenset[str] = frozenset(), **keys: Elements) -> Observed:
    found = {{"a": A, "b": B}[name]: elements for name, elements in keys.items()}
    return Observed(label, reads=found, outcome="committed", pinned=True, after=after)


ONE = wrote("one", a=((), ("1a",)), b=((), ("1b",)))
TWO = wrote("two", a=(("1a",), ("2a",)), b=(("1b",), ("2b",)))
FINAL: dict[Key, Elements] = {A: ("1a", "2a"), B: ("1b", "2b")}


def test_what_a_serial_order_explains_is_no_anomaly() -> None:
    looks = [read("early", a=(), b=()), read("between", a=("1a",), b=("1b",)), read("late", a=("1a", "2a"))]
    failed = wrote("three", "aborted", a=(("1a",), ("3a",)))
    check([ONE, TWO, failed, *looks], FINAL)
    check([ONE, wrote("two", "unknown", a=(("1a",), ("2a",)), b=(("1b",), ("2b",)))], FINAL)
    check([ONE, wrote("two", "unknown", a=(("1a",), ("2a",)))], {A: ("1a",), B: ("1b",)})


@pytest.mark.parametrize(
    ("history", "final", "found"),
    [
        ([ONE, TWO], {A: ("1a", "2a"), B: ("2b", "1b")}, "read"),
        ([wrote("one", a=((), ("1a",)), b=((), ("1b",))), wrote("two", a=((), ("2a",)), b=((), ("2b",)))],
         {A: ("1a", "2a"), B: ("2b", "1b")}, "G0, write cycle"),
        ([wrote("one", "aborted", a=((), ("1a",)))], {A: ("1a",)}, "G1a"),
        ([ONE, wrote("two", "aborted", a=((), ("2a",))), read("look", a=("1a", "2a"))],
         {A: ("1a",), B: ("1b",)}, "G1a"),
        ([wrote("one", a=((), ("1a", "1aa"))), read("look", a=("1a",))], {A: ("1a", "1aa")}, "G1b"),
        ([wrote("one", a=((), ("1a",)), b=(("2b",), ())), wrote("two", a=(("1a",), ()), b=((), ("2b",)))],
         {A: ("1a",), B: ("2b",)}, "G1c"),
        ([wrote("one", a=((), ("1a",))), wrote("two", a=((), ("2a",)))], {A: ("1a", "2a")}, "lost update"),
        ([ONE, TWO, read("look", a=("1a", "2a"), b=("1b",))], FINAL, "read skew"),
        ([wrote("one", a=((), ()), b=((), ("1b",))), wrote("two", a=((), ("2a",)), b=((), ()))],
         {A: ("2a",), B: ("1b",)}, "write skew"),
        ([ONE, read("look", after=frozenset({"one"}), a=())], {A: ("1a",), B: ("1b",)}, "stale read"),
        ([ONE], {A: ("1a",)}, "only"),
        ([wrote("one", "unknown", a=((), ("1a",)), b=((), ("1b",)))], {A: ("1a",)}, "in part"),
        ([ONE], {A: ("1a", "1a"), B: ("1b",)}, "twice"),
        ([ONE, read("look", a=("1a", "x"))], {A: ("1a",), B: ("1b",)}, "in the end"),
    ],
)  # fmt: skip
def test_an_anomaly_is_found(history: list[Observed], final: dict[Key, Elements], found: str) -> None:
    with pytest.raises(Anomaly, match=found):
        check(history, final)
