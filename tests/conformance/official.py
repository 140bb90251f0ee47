"""What dbt-tests-adapter asks for, and which of our classes answers it.

dbt's suites are classes to derive from. One that has tests is run by the first of our classes that derives from it
and from nothing more special; further ones of ours are variants, which the figures leave out.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from types import ModuleType

import dbt.tests.util

from conformance.registry import ABSTRACT, NOT_APPLICABLE, REWRITTEN

TESTS = Path(__file__).parents[1]
OURS = TESTS / "functional" / "adapter"
OFFICIAL = Path(dbt.tests.util.__file__).with_name("adapter")
_OFFICIAL_MODULES = "dbt.tests.adapter."


class Kind(Enum):
    """How an official test is answered."""

    AS_WRITTEN = "as written"
    REWRITTEN = "rewritten"
    NOT_APPLICABLE = "not applicable"
    MISSING = "missing"


@dataclass(frozen=True)
class Case:
    """One test of one official class.

    Attributes:
        suite: dbt's folder.
        name: class and test, as ``BaseEmpty.test_empty``.
        runner: our class and its test, as pytest names them (``path::class::test``, or ``path::class`` for all tests of
            the class); empty if none is run.
        reason: why it is not run as dbt wrote it; empty if it is.
    """

    suite: str
    name: str
    kind: Kind
    runner: str = ""
    reason: str = ""


def _modules(folder: Path, prefix: str, pattern: str) -> Iterator[ModuleType]:
    for path in sorted(folder.rglob(pattern)):
        if path.name != "__init__.py":
            parts = path.relative_to(folder).with_suffix("").parts
            yield importlib.import_module(prefix + ".".join(parts))


def _classes(modules: Iterator[ModuleType]) -> Iterator[type]:
    """Classes in the order that they are written in, each at its own module."""
    for module in modules:
        for item in vars(module).values():
            if inspect.isclass(item) and item.__module__ == module.__name__:
                yield item


def tests_of(item: type) -> list[str]:
    """The names of the tests that a class has, in the order that they are defined in: some build on those before."""
    names = dict.fromkeys(name for base in reversed(item.__mro__) for name in vars(base))
    # a fixture may be called `tests`: it is no function any more
    return [name for name in names if name.startswith("test") and inspect.isfunction(getattr(item, name))]


def is_official(item: type) -> bool:
    """Whether a class is of dbt-tests-adapter."""
    return item.__module__.startswith(_OFFICIAL_MODULES)


def official_classes() -> dict[str, type]:
    """dbt's classes with tests, by name; its own runs on PostgreSQL are left out where they add no test."""
    found = {}
    for item in _classes(_modules(OFFICIAL, _OFFICIAL_MODULES, "*.py")):
        own_run = item.__name__.startswith("Test") and not any(name.startswith("test") for name in vars(item))
        if tests_of(item) and not own_run:
            if item.__name__ in found:
                raise ValueError(
                    f"two official classes are called {item.__name__}: name them by their modules"
                )
            found[item.__name__] = item
    return found


def our_classes() -> list[type]:
    """The classes of ours that pytest runs."""
    modules = _modules(OURS, "functional.adapter.", "test_*.py")
    return [item for item in _classes(modules) if item.__name__.startswith("Test")]


def answered_by(item: type) -> set[type]:
    """The official classes that a class of ours runs: those that it derives from, without their own bases."""
    bases = [base for base in item.__mro__ if is_official(base) and tests_of(base)]
    return {
        base for base in bases if not any(base is not other and issubclass(other, base) for other in bases)
    }


def _node(item: type, test: str = "") -> str:
    path = (TESTS / Path(*item.__module__.split("."))).with_suffix(".py")
    return "::".join([str(path.relative_to(TESTS.parent)), item.__name__, *([test] if test else [])])


def _is_rewritten(runner: type, test: str) -> bool:
    return not getattr(runner, test).__module__.startswith(_OFFICIAL_MODULES)


def cases() -> list[Case]:
    """Every official test, and what is done about it."""
    ours = our_classes()
    by_name = {item.__name__: item for item in ours}
    runners: dict[type, type] = {}
    for item in ours:
        for base in answered_by(item):
            runners.setdefault(base, item)
    found = []
    for name, item in official_classes().items():
        if name in ABSTRACT:
            continue
        for test in tests_of(item):
            found.append(_case(item, test, runners.get(item), by_name))
    return found


def _case(official: type, test: str, runner: type | None, ours: dict[str, type]) -> Case:
    suite = official.__module__.removeprefix(_OFFICIAL_MODULES).partition(".")[0]
    name = f"{official.__name__}.{test}"
    keys = (name, official.__name__)
    if reason := next((NOT_APPLICABLE[key] for key in keys if key in NOT_APPLICABLE), None):
        return Case(suite, name, Kind.NOT_APPLICABLE, reason=reason)
    if rewritten := next((REWRITTEN[key] for key in keys if key in REWRITTEN), None):
        by, reason = rewritten
        class_name, _, own_test = by.partition(".")
        return Case(suite, name, Kind.REWRITTEN, _node(ours[class_name], own_test), reason)
    if runner is None or _is_rewritten(runner, test):
        return Case(suite, name, Kind.MISSING, _node(runner, test) if runner else "")
    return Case(suite, name, Kind.AS_WRITTEN, _node(runner, test))
