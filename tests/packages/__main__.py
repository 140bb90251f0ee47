"""Run the tests of other people's packages with one adapter, and print the figures of all that were run."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import yaml

from dbt_spark_target import in_dbt_spark
from packages.outcomes import Outcome, Results, outcomes, without_report
from packages.page import Run, page, unexplained
from packages.project import Sources, merge, prepare
from packages.registry import CASES, MACROS, Case
from small_spark import SMALL_SPARK

HUB = Path(__file__).parent / "hub"
ROOT = Path(__file__).parents[2]
ADAPTERS = {"lakemerge": "lakemerge", "spark": "dbt-spark"}
# The interpreter instead of compiled queries: tables of a few rows. As the official suites are run.
SETTINGS = {
    **SMALL_SPARK,
    "spark.master": "local[2]",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
#: lakemerge makes ORC tables if nothing is said; dbt-spark is told to.
ORC = {name: {"+file_format": "orc"} for name in ("models", "seeds")}
LONGEST_SECONDS = 3600


def main(arguments: Sequence[str] | None = None) -> int:
    """Run packages from the command line and return the exit code: 1 if something is wrong that has no known cause."""
    parser = argparse.ArgumentParser(prog="python -m packages", description=__doc__)
    parser.add_argument("--adapter", choices=ADAPTERS, default="lakemerge")
    parser.add_argument("--only", nargs="*", choices=CASES, help="cases; without it, all")
    parser.add_argument("--sources", type=Path, help="a folder of clones; without it, dbt deps fetches them")
    parser.add_argument(
        "--results", type=Path, default=ROOT / "build" / "packages", help="folder for what came out"
    )
    args = parser.parse_args(arguments)
    folder = args.results.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    sources = Sources.below(args.sources.resolve() if args.sources else fetched(folder / "hub"))
    found: dict[str, list[Outcome]] = {}
    for name in args.only or CASES:
        work = folder / args.adapter / name
        found[name] = run(CASES[name], sources, args.adapter, work)
        results(folder, args.adapter).add(versions(args.adapter), name, found[name])
    print(page(known_runs(folder), releases(sources)), end="")
    unknown = [item for name, items in found.items() for item in unexplained(CASES[name], items)]
    return int(args.adapter == "lakemerge" and bool(unknown))


def fetched(folder: Path) -> Path:
    """The packages of ``hub/packages.yml``, fetched by dbt."""
    folder.mkdir(exist_ok=True)
    for file in HUB.iterdir():
        (folder / file.name).write_text(file.read_text())
    if subprocess.run([dbt(), "deps"], cwd=folder, stdout=sys.stderr, check=False).returncode:
        raise SystemExit(
            f"dbt could not fetch the packages of {HUB / 'packages.yml'}. Where its hub cannot be reached, clone them "
            "into one folder, and name it: make packages PACKAGES=<folder>"
        )
    return folder / "dbt_packages"


def run(case: Case, sources: Sources, adapter: str, work: Path) -> list[Outcome]:
    """Run the tests of a package, in a folder of its own."""
    settings = merge(ORC, case.settings) if adapter == "spark" else case.settings
    profile = prepare(work, case.project(sources), sources, settings, case.type_in_tests)
    (work / "macros").mkdir(exist_ok=True)
    for file in case.macros:
        shutil.copy(MACROS / file, work / "macros")
    target = {"schema": case.package, **target_of(adapter, work)}
    text = {profile: {"target": "dev", "outputs": {"dev": target}}}
    (work / "profiles.yml").write_text(yaml.safe_dump(text))
    found: list[Outcome] = []
    for step, command in enumerate(case.steps, start=1):
        print(f"[packages] {work.name} on {adapter}: dbt {' '.join(command)}", file=sys.stderr)
        found += run_step(step, command, work)
    return found


def target_of(adapter: str, work: Path) -> dict[str, Any]:
    """The target of the profile, with a metastore and a warehouse in the folder."""
    derby = f"jdbc:derby:{work}/metastore_db;create=true"
    target = {
        "type": "lakemerge",
        "threads": 2,
        "warehouse": str(work / "warehouse"),
        "metastore": "embedded",
        "server_side_parameters": {
            **SETTINGS,
            "spark.hadoop.javax.jdo.option.ConnectionURL": derby,
        },
    }
    return in_dbt_spark(target) if adapter == "spark" else target


def run_step(step: int, command: Sequence[str], work: Path) -> list[Outcome]:
    """Run one command of dbt's; its output is kept beside the project."""
    report = work / "target" / "run_results.json"
    report.unlink(missing_ok=True)
    environment = {**os.environ, "DBT_PROFILES_DIR": str(work), "DBT_SEND_ANONYMOUS_USAGE_STATS": "false"}
    answer = subprocess.run(
        [dbt(), "--no-use-colors", *command],
        cwd=work,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LONGEST_SECONDS,
        check=False,
    )
    (work / f"step_{step}.log").write_text(answer.stdout)
    found = outcomes(step, report) if report.exists() else []
    # an operation at the end of a run fails without being a node of it
    failed = answer.returncode > 1 or not found
    return [*found, *([without_report(step, answer.stdout)] if failed else [])]


def dbt() -> str:
    return str(Path(sys.executable).with_name("dbt"))


def results(folder: Path, adapter: str) -> Results:
    return Results(folder / f"{adapter}.json")


def versions(adapter: str) -> dict[str, str]:
    return {name: version(name) for name in (ADAPTERS[adapter], "dbt-core", "pyspark")}


def releases(sources: Sources) -> dict[str, str]:
    """The release of each package: of a clone, what git calls it, of others, the one that dbt was asked for."""
    listed = yaml.safe_load((HUB / "packages.yml").read_text())["packages"]
    asked_for = {item["package"].rpartition("/")[2]: str(item["version"]) for item in listed}
    return {
        name: described(path) if (path / ".git").exists() else asked_for.get(name, "")
        for name, path in sources.folders.items()
    }


def described(clone: Path) -> str:
    command = ["git", "-C", str(clone), "describe", "--tags", "--always"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def known_runs(folder: Path) -> list[Run]:
    """The runs whose results lie in the folder, ours first."""
    runs = []
    for adapter, shown in ADAPTERS.items():
        known = results(folder, adapter)
        if known.exists():
            text = ", ".join(f"{name} {number}" for name, number in known.versions().items())
            found = {name: known.of(name) for name in CASES}
            runs.append(Run(shown, text, {name: items for name, items in found.items() if items is not None}))
    return runs


if __name__ == "__main__":
    sys.exit(main())
