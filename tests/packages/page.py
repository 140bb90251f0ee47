"""The figures as Markdown: a table of packages, and what was wrong, with its cause."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from packages.outcomes import Outcome, Verdict
from packages.registry import CASES, Case

_LONGEST_MESSAGE = 200


@dataclass(frozen=True)
class Run:
    """All that was run on one adapter.

    Attributes:
        adapter: how it is called.
        versions: what it was made with.
        found: the outcomes by case; one that was not run is missing.
    """

    adapter: str
    versions: str
    found: Mapping[str, Sequence[Outcome]]


def page(runs: Sequence[Run], releases: Mapping[str, str]) -> str:
    """The table of all cases that were run, and below it what was not right."""
    shown = [name for name in CASES if any(name in run.found for run in runs)]
    lines = [f"- {run.adapter}: {run.versions}" for run in runs]
    lines += ["", *_table(shown, runs, releases)]
    for run in runs:
        lines += ["", f"### Not right on {run.adapter}", "", *(_not_right(shown, run) or ["Nothing."])]
    return "\n".join(lines) + "\n"


def _table(shown: Sequence[str], runs: Sequence[Run], releases: Mapping[str, str]) -> Iterator[str]:
    yield f"| package | release | nodes | {' | '.join(run.adapter for run in runs)} |"
    yield f"| --- | --- | --: |{' --- |' * len(runs)}"
    for name in shown:
        nodes = max(len(run.found.get(name, ())) for run in runs)
        counts = [_counts(run.found.get(name)) for run in runs]
        yield f"| {name} | {releases.get(CASES[name].package, '')} | {nodes} | {' | '.join(counts)} |"


def _counts(found: Sequence[Outcome] | None) -> str:
    """The figures of a case in words, without those that are 0."""
    if found is None:
        return "not run"
    counts = {verdict: sum(item.verdict is verdict for item in found) for verdict in Verdict}
    return ", ".join(f"{count} {verdict.value}" for verdict, count in counts.items() if count)


def _not_right(shown: Sequence[str], run: Run) -> list[str]:
    """Each node that was wrong or that warned; those of one cause together."""
    lines = []
    for name in shown:
        groups: dict[str, list[str]] = {}
        for item in run.found.get(name, []):
            if item.verdict in (Verdict.WRONG, Verdict.WARNED):
                said = CASES[name].cause(item) or _short(item.message)
                groups.setdefault(said, []).append(f"`{item.node}`")
        lines += [f"- {name}, {', '.join(dict.fromkeys(nodes))}: {said}" for said, nodes in groups.items()]
    return lines


def unexplained(case: Case, found: Sequence[Outcome]) -> list[Outcome]:
    """What is wrong for no known cause."""
    return [item for item in found if item.verdict is Verdict.WRONG and not case.cause(item)]


def _short(message: str) -> str:
    text = " ".join(message.split()).replace("<", "&lt;")
    return text if len(text) <= _LONGEST_MESSAGE else text[:_LONGEST_MESSAGE].rstrip() + " …"
