"""A dbt project, driven from this process."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import click
from dbt.cli.main import dbtRunner, dbtRunnerResult

from lakemerge.errors import LakemergeError


class DbtFailed(LakemergeError):
    """A dbt command failed; it has said why."""


@dataclass(frozen=True)
class Project:
    """Runs dbt's commands on one project.

    Attributes:
        options: passed to every command, such as ``--project-dir``.
    """

    options: Sequence[str]

    def models(self, selectors: Sequence[str]) -> dict[str, str]:
        """The selected models: how each is materialized, by its unique id.

        Raises:
            DbtFailed: the project cannot be read.
        """
        keys = ["--output", "json", "--output-keys", "unique_id", "config"]
        result = self._invoke("ls", "--resource-type", "model", *keys, *_select(selectors))
        if not result.success:
            raise DbtFailed(
                expected="a dbt project that can be read",
                found=f"that dbt ls failed: {_in_one_line(str(result.exception or 'it gave no reason'))}",
                action="Correct the project, or the options --project-dir, --profiles-dir and --target.",
            )
        found: Any = result.result
        nodes = [json.loads(line) for line in found]
        return {node["unique_id"]: node["config"]["materialized"] for node in nodes}

    def run(self, selectors: Sequence[str], threads: int) -> None:
        """Build the selected models, all at the same time; if one fails, the others are stopped.

        Raises:
            DbtFailed: one of them failed.
        """
        result = self._invoke("run", "--fail-fast", "--threads", str(threads), *_select(selectors))
        if result.success:
            return
        results: Any = getattr(result.result, "results", None) or ()
        failed = [(one.node.name, _reason(one.message)) for one in results if str(one.status) == "error"]
        raise DbtFailed(
            expected="dbt run to succeed",
            found=_describe(failed)
            or f"that it failed: {_in_one_line(str(result.exception or 'it gave no reason'))}",
            action="Committed rows stay; the next run reads the rest.",
        )

    def _invoke(self, command: str, *arguments: str) -> dbtRunnerResult:
        # dbt writes to standard output, which is reserved for the calling command's own output
        runner = dbtRunner(callbacks=[self._print_warning])
        return runner.invoke([command, *arguments, *self.options, "--log-level", "none"])

    @staticmethod
    def _print_warning(event: Any) -> None:
        # the result holds errors as well, and once is enough
        if event.info.level == "warn":
            click.echo(event.info.msg, err=True)


def _reason(message: str | None) -> str:
    """The reason that a node failed, without dbt's first line, which names the node and its file."""
    first, _, rest = (message or "it gave no reason").partition("\n")
    return _in_one_line(rest.strip() or first)


def _describe(failed: Sequence[tuple[str, str]]) -> str:
    """The models that failed, each with its reason; a reason that several share is given once."""
    reasons: dict[str, list[str]] = {}
    for name, reason in failed:
        reasons.setdefault(reason, []).append(name)
    return "; ".join(f"that {' and '.join(names)} failed: {reason}" for reason, names in reasons.items())


def _in_one_line(text: str) -> str:
    return " ".join(text.split()).rstrip(".")


def _select(selectors: Sequence[str]) -> list[str]:
    return [part for selector in selectors for part in ("--select", selector)]
