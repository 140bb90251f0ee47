"""A process with one program's table, which does what its parent tells it, and measures it.

It reads jobs from its standard input, a JSON object a line, and answers each with a line.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from pathlib import Path
from typing import Any

from measure import CountedCalls, Measured, jobs_of
from peers.engines import ENGINES, Engine

ANSWER = "answer: "


def measured_merge(engine: Engine, feed: str, calls: CountedCalls) -> dict[str, float]:
    """Merge, and return seconds and counts."""
    files, jobs, seconds = engine.data_files(), jobs_of(engine.spark), Measured()
    calls.calls = 0
    with seconds.run():
        own = engine.merge(feed)
    made = calls.calls
    return {
        "cpu": seconds.cpu[0],
        "compiling": seconds.compiling[0],
        "wall": seconds.wall[0],
        "calls": made,
        "jobs": jobs_of(engine.spark) - jobs,
        "files": len(engine.data_files() - files),
        **own,
    }


def measured_read(engine: Engine) -> dict[str, float]:
    """Read all columns of all rows, three times; returns the seconds of the third time."""
    seconds = Measured()
    for _ in range(3):
        with seconds.run():
            engine.spark.sql(f"select bit_xor(xxhash64(*)) from {engine.table}").collect()
    return {"cpu": seconds.cpu[-1], "wall": seconds.wall[-1]}


def main(name: str, root: str, jars: str) -> None:
    engine = ENGINES[name](Path(root), Path(jars))
    calls = CountedCalls()
    for line in sys.stdin:
        job = json.loads(line)
        try:
            value: Any = None
            if job["do"] == "create":
                engine.create(job["base"], job["rows"])
            elif job["do"] == "merge":
                value = measured_merge(engine, job["feed"], calls)
            elif job["do"] == "read":
                value = measured_read(engine)
            elif job["do"] == "export":
                engine.export(job["target"])
            elif job["do"] == "write":
                engine.spark.sql(job["sql"]).coalesce(2).write.parquet(job["target"])
            reply = {"value": value}
        except Exception:  # noqa: BLE001 - told to the parent, which ends
            reply = {"error": traceback.format_exc()}
        print(ANSWER + json.dumps(reply), flush=True)
    os._exit(0)  # without waiting for what Java still does; it ends with this process


if __name__ == "__main__":
    main(*sys.argv[1:])
