"""Run the commands of a dbt project one after another in this process.

Spark starts once, at the first command that needs it, instead of once for each command.
"""

from __future__ import annotations

import copy
import json
import sys
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import agate
from dbt.artifacts.schemas.results import RunStatus, TestStatus
from dbt.artifacts.schemas.run import RunExecutionResult, RunResult
from dbt.cli.main import dbtRunner, dbtRunnerResult
from dbt.contracts.graph.manifest import Manifest
from dbt_common.events.base_types import EventMsg

# Keeps what a build left in the target folder, for people to look into.
_KEEP_ARTIFACTS = ("--no-write-json",)


class CommandFailed(Exception):
    """A dbt command failed; the text is one line that says which and why."""


@dataclass(slots=True)
class DbtProject:
    """A dbt project on this machine.

    Attributes:
        folder: where its dbt_project.yml is.
        profiles: where the profiles.yml is.
        state: where dbt writes its target and log folders.
        variables: for every command. Other variables make another project: a model's config may depend on them.
    """

    folder: Path
    profiles: Path
    state: Path
    variables: Mapping[str, Any] = field(default_factory=dict)
    _manifest: Manifest | None = field(default=None, init=False)
    _lines: list[str] = field(default_factory=list, init=False)

    def build(self, *arguments: str, variables: Mapping[str, Any] | None = None) -> dict[str, dict[str, Any]]:
        """Run `dbt build` and return the adapter's answer for each node, by the node's name.

        Raises:
            CommandFailed: a model, seed or test failed.
        """
        runs = self._run(["build", *arguments], variables or {})
        return {run.node.name: dict(run.adapter_response) for run in runs}

    def query(self, sql: str) -> list[dict[str, Any]]:
        """Return the rows of a query; `ref` and `source` work in it.

        Values are Python's, as dbt infers them from the text of a column.
        """
        runs = self._run(["show", "--inline", sql, "--limit", "-1", "--output", "json", *_KEEP_ARTIFACTS])
        table = runs[0].agate_table
        if table is None:
            raise CommandFailed("dbt show: expected a table of rows; found none")
        return [dict(zip(table.column_names, row.values(), strict=True)) for row in table.rows]

    def print_query(self, title: str, sql: str) -> None:
        """Print the rows of a query below a title; nulls are left empty."""
        rows = self.query(sql)
        print(f"\n{title}\n")
        values = [["" if value is None else value for value in row.values()] for row in rows]
        print_table(list(rows[0]) if rows else ("(nothing)",), values)

    def run_operation(self, macro: str, arguments: Mapping[str, Any]) -> list[str]:
        """Run a macro by name and return the lines that it logs."""
        self._lines.clear()
        self._run(["run-operation", macro, "--args", json.dumps(arguments), *_KEEP_ARTIFACTS])
        return list(self._lines)

    def _run(self, command: Sequence[str], variables: Mapping[str, Any] | None = None) -> Sequence[RunResult]:
        if self._manifest is None:
            # Parsed once for all later commands: no variable that a single command passes alters a node.
            manifest = self._invoke(dbtRunner(), ["parse", *self._vars()]).result
            if not isinstance(manifest, Manifest):
                raise CommandFailed("dbt parse: expected a manifest; found none")
            self._manifest = manifest
        # A command compiles the nodes of its manifest in place, so each command gets a copy of its own. The manifest's
        # own `deepcopy` fails in dbt-core 1.12 where a test in SQL has no database.
        runner = dbtRunner(manifest=copy.deepcopy(self._manifest), callbacks=[self._collect])
        result = self._invoke(runner, [*command, *self._vars(variables)]).result
        return result.results if isinstance(result, RunExecutionResult) else []

    def _vars(self, more: Mapping[str, Any] | None = None) -> list[str]:
        variables = {**self.variables, **(more or {})}
        return ["--vars", json.dumps(variables)] if variables else []

    def _collect(self, event: EventMsg) -> None:
        if event.info.name == "JinjaLogInfo":
            # dbt's type of an event leaves out the text that every event has
            self._lines.append(event.info.msg)  # type: ignore[attr-defined]

    def _invoke(self, runner: dbtRunner, command: Sequence[str]) -> dbtRunnerResult:
        folders = {
            "--project-dir": self.folder,
            "--profiles-dir": self.profiles,
            "--target-path": self.state / "target",
            "--log-path": self.state / "logs",
        }
        options = [text for name, folder in folders.items() for text in (name, str(folder))]
        result = runner.invoke([*command, *options, "--log-level", "none", "--log-level-file", "debug"])
        if not result.success:
            log = self.state / "logs" / "dbt.log"
            raise CommandFailed(f"dbt {command[0]}: {_reason(result)} (all of it in {log})")
        return result


def progress(text: str) -> None:
    """Write a progress line, away from the results on standard output."""
    print(text, file=sys.stderr, flush=True)


def print_table(names: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print rows as a table to standard output."""
    types = [agate.Text(cast_nulls=False)] * len(names)
    table = agate.Table([[str(value) for value in row] for row in rows], names, types)
    # agate's own default is the standard output at the time of its import
    table.print_table(max_rows=None, max_columns=None, max_column_width=None, output=sys.stdout)
    sys.stdout.flush()


def _reason(result: dbtRunnerResult) -> str:
    """Say in one line what failed first."""
    if result.exception is not None:
        return _one_line(str(result.exception))
    runs = result.result.results if isinstance(result.result, RunExecutionResult) else []
    for run in runs:
        if run.status in (RunStatus.Error, TestStatus.Error, TestStatus.Fail):
            return f"{run.node.name}: {_one_line(run.message or run.status)}"
    return "failed without a message"


def _one_line(text: str) -> str:
    # Spark adds the whole query plan to its errors.
    return textwrap.shorten(text, width=300, placeholder=" ...")
