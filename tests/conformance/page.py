"""The figures as a page in Markdown: a table of suites for each adapter that was run, and the reasons."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from conformance.official import Case, Kind
from conformance.outcomes import Outcome

# What dbt puts before each line that it logs, as pytest shows it: a colour and the time.
_LOG_HEAD = re.compile(r"\\x1b\[\d*m(\d\d:\d\d:\d\d\s*)?")
# The schema of a test's run has a number of its own.
_SCHEMA = re.compile(r"\btest\d{15,}_")
_LONGEST_MESSAGE = 160


@dataclass(frozen=True)
class Run:
    """One adapter's run: how it is called, what it was made with, and what came out."""

    adapter: str
    versions: str
    outcomes: Sequence[Outcome]

    def count(self, holds: Callable[[Outcome], bool], suite: str = "") -> int:
        return sum(holds(item) for item in self.outcomes if suite in ("", item.case.suite))


_COUNTS: Mapping[str, Callable[[Outcome], bool]] = {
    "passed": lambda item: item.passed,
    "failed": lambda item: bool(item.failure),
    "not applicable": lambda item: not item.is_applicable,
}

_INTRODUCTION = """\
# Conformance to dbt's official suites

Made by `make conformance` and `make conformance ADAPTER=spark`, which run the tests of dbt-tests-adapter against this
adapter, and against dbt-spark on the same kind of tables: plain ORC tables, in the same Spark with the same settings.
Both run the same classes, in `tests/functional/adapter`, which give dbt's tests their names of types and the like.

A test counts once, however many sets of parameters it has. It is *not applicable* if it asks for something that plain
Hive tables in Spark have not; the same ones are left out for both. Some are *rewritten*: they ask the same in Spark's
words, or what can be asked of such tables in its place, and count with the others. Every test of the installed package
is in the table; `tests/unit/conformance` checks it.
"""


def page(cases: Sequence[Case], runs: Sequence[Run]) -> str:
    """The page, with one group of columns for each run."""
    parts = [_INTRODUCTION, *(f"- {run.adapter}: {run.versions}" for run in runs), "", *_figures(cases, runs)]
    for run in runs:
        parts += ["", f"## Failed with {run.adapter}", "", *_failed(run)]
    parts += ["", "## Rewritten", "", *_reasons(cases, Kind.REWRITTEN)]
    parts += ["", "## Not applicable", "", *_reasons(cases, Kind.NOT_APPLICABLE)]
    skipped = sorted(
        {(item.case.name, item.skipped) for run in runs for item in run.outcomes if item.skipped}
    )
    parts += [f"- {_code(name)}: skips itself, {_short(reason)}" for name, reason in skipped]
    return "\n".join(parts) + "\n"


def _figures(cases: Sequence[Case], runs: Sequence[Run]) -> list[str]:
    heads = [f"{run.adapter} {name}" for run in runs for name in _COUNTS]
    lines = [_row(["suite", "tests", "rewritten", *heads]), _row(["---", *["--:"] * (len(heads) + 2)])]
    for suite in [*sorted({case.suite for case in cases}), ""]:
        of_suite = [case for case in cases if suite in ("", case.suite)]
        rewritten = sum(case.kind is Kind.REWRITTEN for case in of_suite)
        lines.append(_row([suite or "**all**", len(of_suite), rewritten, *_numbers(runs, suite)]))
    return lines


def _numbers(runs: Sequence[Run], suite: str) -> list[int]:
    return [run.count(holds, suite) for run in runs for holds in _COUNTS.values()]


def _row(cells: Sequence[object]) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def _failed(run: Run) -> list[str]:
    lines = [f"- {_code(item.case.name)}: {_short(item.failure)}" for item in run.outcomes if item.failure]
    return lines or ["None."]


def _reasons(cases: Sequence[Case], kind: Kind) -> list[str]:
    """Cases of one kind by their reasons; a class is named once if its tests have all the same one."""
    reasons: dict[str, set[str]] = {}
    for case in cases:
        reasons.setdefault(_class(case), set()).add(case.reason)
    lines = []
    chosen = sorted((case for case in cases if case.kind is kind), key=lambda case: case.reason)
    for reason, group in groupby(chosen, key=lambda case: case.reason):
        names = {_class(case) if len(reasons[_class(case)]) == 1 else case.name for case in group}
        lines.append(f"- {', '.join(map(_code, sorted(names)))}: {reason}")
    return lines


def _class(case: Case) -> str:
    return case.name.partition(".")[0]


def _code(name: str) -> str:
    return f"`{name}`"


def _short(message: str) -> str:
    text = (
        " ".join(_SCHEMA.sub("test_", _LOG_HEAD.sub("", message)).split())
        .replace("|", "\\|")
        .replace("<", "&lt;")
    )
    return text if len(text) <= _LONGEST_MESSAGE else text[:_LONGEST_MESSAGE].rstrip() + " …"
