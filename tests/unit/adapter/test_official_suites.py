"""Every class of dbt-tests-adapter is run, or named with the reason why not."""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Iterator
from pathlib import Path

import dbt.tests.util

OFFICIAL = Path(dbt.tests.util.__file__).with_name("adapter")
OURS = Path(__file__).parents[2] / "functional" / "adapter"


def _classes(folder: Path) -> Iterator[tuple[str, list[str], bool]]:
    """Name, names of bases, and whether it has tests, for each class below a folder."""
    for path in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                bases = [ast.unparse(base).rpartition(".")[2] for base in node.bases]
                has_tests = any(
                    isinstance(item, ast.FunctionDef) and item.name.startswith("test") for item in node.body
                )
                yield node.name, bases, has_tests


class Official:
    """dbt's classes, those to derive from.

    Attributes:
        bases: names of the bases of each class.
        names: classes with tests, their own or inherited.
    """

    def __init__(self) -> None:
        self.bases: dict[str, set[str]] = {}
        with_tests = set()
        for name, bases, has_tests in _classes(OFFICIAL):
            if not name.startswith("Test"):
                self.bases.setdefault(name, set()).update(bases)
                if has_tests:
                    with_tests.add(name)
        self.names = {name for name in self.bases if self.ancestors({name}) & with_tests}

    def ancestors(self, names: set[str]) -> set[str]:
        """The names and those of all classes that they derive from."""
        found: set[str] = set()
        while names:
            found |= names
            names = {base for name in names for base in self.bases.get(name, ())} - found
        return found


def _not_applicable() -> dict[str, str]:
    spec = importlib.util.spec_from_file_location("not_applicable", OURS / "not_applicable.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return dict(module.NOT_APPLICABLE)


def test_every_official_class_is_run_or_has_a_reason() -> None:
    official = Official()
    ours = {base for _, bases, _ in _classes(OURS) for base in bases}
    assert not official.names - official.ancestors(ours | set(_not_applicable()))


def test_reasons_are_given_for_classes_that_exist_and_are_not_run() -> None:
    listed = _not_applicable()
    ours = {base for name, bases, _ in _classes(OURS) for base in bases if name.startswith("Test")}
    assert not set(listed) - Official().names
    assert not set(listed) & ours
    assert all(len(reason) > 20 for reason in listed.values())
