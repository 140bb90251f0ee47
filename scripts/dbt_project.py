"""Run the commands of a dbt project one after another in this process.

Spark starts once, at the first command that needs it, instead of once a command.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dbt.cli.main import dbtRunner, dbtRunnerResult


class CommandFailed(Exception):
    """A dbt command failed; the text is one line that says which and why."""


@dataclass(slots=True)
class DbtProject:
    """A dbt project on this machine.

    Attributes:
        folder: where its dbt_project.yml is.
        profiles: where the profiles.yml is.
        state: where dbt writes its target and log folders.
    """

    folder: Path
    profiles: Path
    state: Path
    _runner: dbtRunner | None = field(default=None, init=False)

    def parse(self) -> None:
        """Parse the project once, for all commands to come: no var of ours alters its nodes."""
        result = self._invoke(dbtRunner(), ["parse"])
        self._runner = dbtRunner(manifest=result.result)

    def build(self, *arguments: str, variables: Mapping[str, Any] | None = None) -> dict[str, dict[str, Any]]:
        """Run `dbt build` and return the adapter's answer for each node, by the node's name.

        Raises:
            CommandFailed: a model, seed or test failed.
        """
        command = ["build", *arguments]
        if variables:
            command += ["--vars", json.dumps(variables)]
        result = self._run(command)
        return {run.node.name: dict(run.adapter_response) for run in result.result.results}

    def query(self, sql: str) -> list[dict[str, Any]]:
        """Return the rows of a query; `ref` and `source` work in it.

        Values are Python's, as dbt infers them from the text of a column.
        """
        result = self._run(["show", "--inline", sql, "--limit", "-1", "--output", "json"])
        table = result.result.results[0].agate_table
        return [dict(zip(table.column_names, row.values(), strict=True)) for row in table.rows]

    def run_operation(self, macro: str, arguments: Mapping[str, Any]) -> None:
        """Run a macro by name, which prints what it has to say."""
        self._run(["run-operation", macro, "--args", json.dumps(arguments)])

    def _run(self, command: Sequence[str]) -> dbtRunnerResult:
        if self._runner is None:
            self.parse()
        assert self._runner is not None
        return self._invoke(self._runner, command)

    def _invoke(self, runner: dbtRunner, command: Sequence[str]) -> dbtRunnerResult:
        result = runner.invoke(
            [
                *command,
                "--project-dir",
                str(self.folder),
                "--profiles-dir",
                str(self.profiles),
                "--target-path",
                str(self.state / "target"),
                "--log-path",
                str(self.state / "logs"),
                "--quiet",
            ]
        )
        if not result.success:
            raise CommandFailed(f"dbt {command[0]}: {_reason(result)}")
        return result


def progress(text: str) -> None:
    """Write a progress line, away from the results on standard output."""
    print(text, file=sys.stderr, flush=True)


def _reason(result: dbtRunnerResult) -> str:
    """Say in one line what failed first."""
    if result.exception is not None:
        return _one_line(str(result.exception))
    for run in getattr(result.result, "results", []):
        if run.status in ("error", "fail", "runtime error"):
            return f"{run.node.name}: {_one_line(run.message or run.status)}"
    return "failed without a message; see dbt.log in the log folder"


def _one_line(text: str) -> str:
    return " ".join(text.split())
