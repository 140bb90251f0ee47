"""Run the official suites with one adapter, and print the figures of all that were run."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

from packaging.version import Version

from conformance.official import TESTS, Case, cases
from conformance.outcomes import Outcome, Results, outcomes
from conformance.page import Run, page
from conformance.registry import AT_ONCE_ONLY

ROOT = TESTS.parent


@dataclass(frozen=True)
class Target:
    """What the suites are run on.

    Attributes:
        shown: what the page calls it.
        options: pytest's.
        left_out: tests that cannot be run on it alone, by name, with the reasons.
    """

    package: str
    shown: str
    options: tuple[str, ...]
    left_out: Mapping[str, str] = field(default_factory=dict)


TARGETS = {
    "lakemerge": Target("lakemerge", "dbt-lakemerge", ("--adapter", "lakemerge")),
    "lakemerge-after-tests": Target(
        "lakemerge",
        "dbt-lakemerge, `publish: after_tests`",
        ("--adapter", "lakemerge", "--publish", "after_tests"),
        AT_ONCE_ONLY,
    ),
    "spark": Target("dbt-spark", "dbt-spark", ("--adapter", "spark")),
}
_TOGETHER = ("dbt-tests-adapter", "dbt-core", "pyspark")
# pytest's codes for "all passed" and "some failed": with others nothing can be said of the tests
_WAS_RUN = (0, 1)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the suites from the command line and return the exit code: 1 if a test of ours failed."""
    parser = argparse.ArgumentParser(prog="python -m conformance", description=__doc__)
    parser.add_argument("--adapter", choices=TARGETS, default="lakemerge")
    parser.add_argument("--workers", default="3", help="processes, as pytest-xdist takes them")
    parser.add_argument("--suite", nargs="*", help="folders of dbt-tests-adapter; without it, all")
    parser.add_argument(
        "--results", type=Path, default=ROOT / "build" / "conformance", help="folder for what came out"
    )
    args = parser.parse_args(arguments)
    every = cases()
    chosen = [case for case in every if not args.suite or case.suite in args.suite]
    found = run(chosen, args.adapter, args.workers)
    if found is None:
        return 2
    made_with = versions(args.adapter)
    results(args.results, minor(made_with["dbt-core"]), args.adapter).add(made_with, found)
    print(page(every, known_runs(every, args.results)), end="")
    return int(args.adapter != "spark" and any(item.failure for item in found))


def run(chosen: Sequence[Case], adapter: str, workers: str) -> list[Outcome] | None:
    """Run the tests of the cases; ``None`` if pytest did not get through. What it prints goes to stderr."""
    target = TARGETS[adapter]
    nodes = list(
        dict.fromkeys(case.runner for case in chosen if case.runner and case.name not in target.left_out)
    )
    command = [sys.executable, "-m", "pytest", "-q", "--tb=no", "-r", "N"]
    command += ["-n", workers, "--dist", "loadscope"]
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.xml")
        command += [*target.options, f"--junitxml={report}", *nodes]
        code = subprocess.run(command, cwd=ROOT, stdout=sys.stderr, check=False).returncode
        return outcomes(chosen, report, target.left_out) if code in _WAS_RUN else None


def minor(release: str) -> str:
    return ".".join(release.split(".")[:2])


def results(folder: Path, dbt: str, adapter: str) -> Results:
    """What came out of an adapter with a minor release of dbt-core; a run on another one leaves it there."""
    return Results(folder / dbt / f"{adapter}.json")


def versions(adapter: str) -> dict[str, str]:
    return {name: version(name) for name in (TARGETS[adapter].package, *_TOGETHER)}


def known_runs(every: Sequence[Case], folder: Path) -> list[Run]:
    """The runs whose results lie in the folder: ours first, and the newest dbt-core first."""
    releases = sorted((path.name for path in folder.iterdir() if path.is_dir()), key=Version, reverse=True)
    runs = []
    for adapter, target in TARGETS.items():
        for dbt in releases:
            known = results(folder, dbt, adapter)
            if known.exists():
                text = ", ".join(f"{name} {number}" for name, number in known.versions().items())
                runs.append(Run(f"{target.shown}, dbt-core {dbt}", text, known.of(every)))
    return runs


if __name__ == "__main__":
    sys.exit(main())
