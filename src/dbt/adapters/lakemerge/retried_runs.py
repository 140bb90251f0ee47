"""The runs that `dbt retry` repeats; see :mod:`lakemerge.engine.publish.repeated_runs`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from lakemerge.errors import NotPublished

# A file beside dbt's results, which name only the last run: it names all runs that a retry repeats.
_CHAIN = "lakemerge_retries.json"


def retried_runs(config: Any, invocation: str) -> tuple[str, ...]:
    """The ids of the invocations that the running command repeats, the newest first; none unless it is `dbt retry`.

    Args:
        config: dbt's RuntimeConfig.
        invocation: the running command's id.

    Raises:
        NotPublished: the last run was cut off before it could publish what it had staged.
    """
    context = click.get_current_context(silent=True)
    if context is None or context.command.name != "retry":
        return ()
    target = Path(config.project_root, config.target_path)
    chain = target / _CHAIN
    known = json.loads(chain.read_text(encoding="utf-8")) if chain.exists() else {}
    if known.get("invocation_id") == invocation:
        return tuple(known["retries"])
    results = Path(config.project_root, context.params.get("state") or config.target_path, "run_results.json")
    if not results.exists():
        return ()  # dbt says so
    run = json.loads(results.read_text(encoding="utf-8"))
    _require_end(run)
    last = str(run["metadata"]["invocation_id"])
    earlier: Sequence[str] = known["retries"] if known.get("invocation_id") == last else ()
    retries = (last, *earlier)
    target.mkdir(parents=True, exist_ok=True)
    # replaced in one step: after a kill, the file is the one before or this one
    written = chain.with_name(f"{_CHAIN}.{invocation}")
    written.write_text(json.dumps({"invocation_id": invocation, "retries": retries}), encoding="utf-8")
    written.replace(chain)
    return retries


def _require_end(run: Mapping[str, Any]) -> None:
    """Refuse to repeat a run whose results say that nodes are built, and which was cut off before it published them.

    dbt would not build them again, and would report success.
    """
    staged = [
        str(result["unique_id"])
        for result in run["results"]
        if result["status"] == "success" and (result.get("adapter_response") or {}).get("unpublished")
    ]
    if staged:
        command = (run.get("args") or {}).get("invocation_command") or "the command"
        raise NotPublished(
            expected="the results of a run that came to its end, to retry it",
            found=f"one that was interrupted before it could publish {', '.join(sorted(staged))}",
            action=f"Run `{command}` again.",
        )
