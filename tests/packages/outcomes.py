"""What became of the nodes of a package, as dbt's ``run_results.json`` tells it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import Enum
from pathlib import Path
from typing import Any


class Verdict(Enum):
    """What came out of a node. A test that found what it looks for, with the severity `warn`, has warned."""

    RIGHT = "right"
    WARNED = "warned"
    WRONG = "wrong"
    SKIPPED = "skipped"


_VERDICTS = {
    "success": Verdict.RIGHT,
    "pass": Verdict.RIGHT,
    "no-op": Verdict.RIGHT,
    "warn": Verdict.WARNED,
    "skipped": Verdict.SKIPPED,
}


@dataclass(frozen=True)
class Outcome:
    """A node in one command, or a command that came to no node.

    Attributes:
        step: the number of the command, from 1.
        node: its kind and name, as ``model orders``.
        status: dbt's word.
        message: the first line of what dbt says.
    """

    step: int
    node: str
    status: str
    message: str = ""

    @property
    def verdict(self) -> Verdict:
        return _VERDICTS.get(self.status, Verdict.WRONG)


def outcomes(step: int, report: Path) -> list[Outcome]:
    """The nodes in a report of dbt's."""
    results = json.loads(report.read_text())["results"]
    return [
        Outcome(step, _node(item["unique_id"]), item["status"], _line(item["message"])) for item in results
    ]


def without_report(step: int, output: str) -> Outcome:
    """What a command came to that ended before its first node."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    error = next((place for place, line in enumerate(lines) if "Error" in line), len(lines) - 1)
    return Outcome(step, "dbt itself", "error", " ".join(lines[error : error + 3]) if lines else "no output")


def _node(unique_id: str) -> str:
    """Kind and name: ``test.project.name.hash`` has the two and more."""
    kind, _, rest = unique_id.partition(".")
    return f"{kind} {rest.split('.')[1]}"


def _line(message: str | None) -> str:
    """The first line that says something: dbt's own first one names the node."""
    lines = [line.strip() for line in (message or "").splitlines() if line.strip()]
    says = [line for line in lines if not line.split(" in ")[0].endswith("Error")]
    return (says or lines or [""])[0]


class Results:
    """What was found on an adapter, in a file. A run of some cases replaces theirs alone."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def exists(self) -> bool:
        return self._path.exists()

    def _read(self) -> dict[str, Any]:
        known: dict[str, Any] = {"versions": {}, "cases": {}}
        return dict(json.loads(self._path.read_text())) if self.exists() else known

    def add(self, versions: Mapping[str, str], case: str, found: Iterable[Outcome]) -> None:
        """Write down what a case came to. What other versions have given is forgotten."""
        known = self._read()
        cases = known["cases"] if known["versions"] == dict(versions) else {}
        cases[case] = [asdict(item) for item in found]
        self._path.write_text(json.dumps({"versions": dict(versions), "cases": cases}, indent=1))

    def versions(self) -> dict[str, str]:
        return dict(self._read()["versions"])

    def of(self, case: str) -> Sequence[Outcome] | None:
        """The outcomes of a case, or none if it was not run."""
        found = self._read()["cases"].get(case)
        return None if found is None else [Outcome(**item) for item in found]
