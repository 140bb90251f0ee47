"""Runs dbt's commands one after another in one process: a command a line of standard input, as a JSON array.

The answer to each is a line of standard output after the word ANSWER, an object: `success`, `message` (of the first
node that failed, or of what stopped dbt), `failed` (the messages of all nodes that failed, by their names), `response`
(of the last node) and `rows` (of `dbt show`). The variable MOST_DELTAS is a lower threshold than that of users.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from dbt.cli.main import dbtRunner

from lakemerge import compaction_thresholds


def main(common: list[str]) -> None:
    compaction_thresholds.DELTAS = int(os.environ.get("MOST_DELTAS", compaction_thresholds.DELTAS))
    said: list[str] = []

    def listen(event: Any) -> None:
        # the result of an operation does not say why it failed
        if event.info.name in ("RunningOperationCaughtError", "RunningOperationUncaughtError"):
            said.append(event.data.exc)

    for line in sys.stdin:
        said.clear()
        result = dbtRunner(callbacks=[listen]).invoke([*json.loads(line), *common, "--log-level", "none"])
        print("ANSWER", json.dumps(answer(result, said), default=str), flush=True)


def answer(result: Any, said: list[str]) -> dict[str, Any]:
    results = list(getattr(result.result, "results", None) or ())
    failed = {name_of(one): one.message or "\n".join(said) for one in results if str(one.status) == "error"}
    table = getattr(results[-1], "agate_table", None) if results else None
    return {
        "success": result.success,
        "message": next(iter(failed.values()), str(result.exception or "")),
        "failed": failed,
        "response": results[-1].adapter_response if results else {},
        "rows": [list(row.values()) for row in table.rows] if table is not None else [],
    }


def name_of(result: Any) -> str:
    """The name of a result's node; the result of an operation has no node."""
    unique_id: str = getattr(result, "node", result).unique_id
    return unique_id.split(".")[2]


if __name__ == "__main__":
    main(sys.argv[1:])
