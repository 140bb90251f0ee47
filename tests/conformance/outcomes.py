"""What became of the official tests in one run, as pytest's report in JUnit's format tells it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from conformance.official import Case, Kind

NOT_RUN = "did not run"


@dataclass(frozen=True)
class Outcome:
    """A case and what came out.

    Attributes:
        failure: the first line of what failed; empty for a case that passed or that is not applicable.
        skipped: why it was not run this time; of a test that skipped itself, what it says.
    """

    case: Case
    failure: str = ""
    skipped: str = ""

    @property
    def is_applicable(self) -> bool:
        return self.case.kind is not Kind.NOT_APPLICABLE and not self.skipped

    @property
    def passed(self) -> bool:
        return self.is_applicable and not self.failure


def outcomes(cases: Iterable[Case], report: Path, left_out: Mapping[str, str] | None = None) -> list[Outcome]:
    """The outcome of each case that is run. One passes if all tests of its runner do, and fails if none was run.

    Args:
        left_out: the reasons of cases, by name, that were not to be run this time.
    """
    without = left_out or {}
    reported: dict[str, list[ElementTree.Element]] = {}
    for item in ElementTree.parse(report).iter("testcase"):
        module, _, class_name = item.attrib["classname"].rpartition(".")
        owner = f"{module.replace('.', '/')}.py::{class_name}"
        for node in (owner, f"{owner}::{item.attrib['name'].partition('[')[0]}"):
            reported.setdefault(node, []).append(item)
    return [
        Outcome(case, skipped=without[case.name])
        if case.name in without
        else _outcome(case, reported.get(case.runner, []))
        for case in cases
        if case.runner
    ]


def _outcome(case: Case, items: list[ElementTree.Element]) -> Outcome:
    failures = [child for item in items for child in item if child.tag in ("failure", "error")]
    if failures or not items:
        return Outcome(case, failure=_line(failures[0]) if failures else NOT_RUN)
    skipped = [child for item in items for child in item if child.tag == "skipped"]
    return Outcome(case, skipped=skipped[0].attrib.get("message", "") if len(skipped) == len(items) else "")


def _line(failure: ElementTree.Element) -> str:
    lines = (line.strip() for line in failure.attrib.get("message", "").splitlines())
    return next((line for line in lines if line), failure.tag)


class Results:
    """The outcomes of an adapter's tests in a file. A run of some suites replaces theirs alone."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def exists(self) -> bool:
        return self._path.exists()

    def _read(self) -> dict[str, Any]:
        known: dict[str, Any] = {"versions": {}, "tests": {}}
        return dict(json.loads(self._path.read_text())) if self.exists() else known

    def add(self, versions: Mapping[str, str], found: Iterable[Outcome]) -> None:
        """Write down a run. What other versions have given is forgotten."""
        known = self._read()
        tests = known["tests"] if known["versions"] == versions else {}
        self._path.parent.mkdir(parents=True, exist_ok=True)
        tests.update({item.case.name: [item.failure, item.skipped] for item in found})
        self._path.write_text(json.dumps({"versions": versions, "tests": tests}, indent=1))

    def versions(self) -> dict[str, str]:
        return dict(self._read()["versions"])

    def of(self, cases: Iterable[Case]) -> list[Outcome]:
        """The outcomes of these cases; one that was not run counts as failed."""
        tests = self._read()["tests"]
        return [
            Outcome(case, *(tests.get(case.name, (NOT_RUN, "")) if case.runner else ())) for case in cases
        ]
