"""Runs dbt's commands one after another in one process: a command a line of standard input, as a JSON array.

The answer to each is a line of standard output after the word ANSWER, an object: `success`, `message` (of the first
node that failed, or of what stopped dbt), `response` (of the last node) and `rows` (of `dbt show`).
"""

from __future__ import annotations

import json
import sys
from typing import Any

from dbt.cli.main import dbtRunner


def main(common: list[str]) -> None:
    for line in sys.stdin:
        result = dbtRunner().invoke([*json.loads(line), *common, "--log-level", "none"])
        print("ANSWER", json.dumps(answer(result), default=str), flush=True)


def answer(result: Any) -> dict[str, Any]:
    results = list(getattr(result.result, "results", None) or ())
    failed = [one.message for one in results if str(one.status) == "error"]
    table = getattr(results[-1], "agate_table", None) if results else None
    return {
        "success": result.success,
        "message": failed[0] if failed else str(result.exception or ""),
        "response": results[-1].adapter_response if results else {},
        "rows": [list(row.values()) for row in table.rows] if table is not None else [],
    }


if __name__ == "__main__":
    main(sys.argv[1:])
