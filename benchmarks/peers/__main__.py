"""Merges by lakemerge, Iceberg, Delta and INSERT OVERWRITE beside the least that copy-on-write must do, in one run.

    make bench-peers
    make bench-peers WORKLOADS="small;20 partitions" ENGINES="lakemerge;iceberg"

Each program has a process of its own on the same Spark with the same settings, and all get the same feeds, one after
another, round by round. So each is as cold as in a command of its own: after one merge, or ten small ones, that are not
counted. Figures are medians of the counted rounds; CPU seconds are those of Python and Java together. At the end of a
workload DuckDB compares each table with what it makes of the feeds itself. The figures are kept then, so that a page
can have workloads that were measured one after another.
"""

from __future__ import annotations

import argparse
import datetime
import json
import subprocess
import sys
import tempfile
from collections.abc import Collection
from pathlib import Path
from typing import Any

from peers.engines import ENGINES
from peers.report import Result, keep, kept, page, plot
from peers.worker import ANSWER
from peers.workloads import Workload, workloads

# Programs that do not keep what they merge.
_KEEPS_NOTHING = ("floor",)
# Nobody knows how long the others take for that.
_MAKES_MANY_PARTITIONS = ("floor", "lakemerge", "lakemerge, partition_moves: false")


class Process:
    """A worker."""

    def __init__(self, engine: str, root: Path, jars: Path) -> None:
        root.mkdir(parents=True)
        self.engine = engine
        self._log = (root / "log").open("w")
        command = [sys.executable, "-m", "peers.worker", engine, str(root), str(jars)]
        self._process = subprocess.Popen(
            command,
            cwd=root,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            env={"PYTHONPATH": str(Path(__file__).parents[1]), **_environment()},
        )

    def ask(self, **job: Any) -> Any:
        """Let the worker do a job; ends the program with what failed."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps(job), file=self._process.stdin, flush=True)
        for line in self._process.stdout:
            if line.startswith(ANSWER):
                answer = json.loads(line.removeprefix(ANSWER))
                if "error" in answer:
                    raise SystemExit(f"{self.engine} failed: {answer['error']}")
                return answer["value"]
        raise SystemExit(f"{self.engine} ended; see {self._log.name}")

    def stop(self) -> None:
        """End the worker with its Java."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()
        self._log.close()


def _environment() -> dict[str, str]:
    import os

    return {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}


def measure(workload: Workload, engines: list[str], root: Path, jars: Path) -> list[Result]:
    """Run a workload with all engines, in turn."""
    print(f"{workload.name}: {', '.join(engines)}", file=sys.stderr)
    writer = Process("floor", root / "feeds", jars)
    feeds = [root / "feeds" / f"{number}" for number in range(workload.rounds + 1)]
    for number, feed in enumerate(feeds):
        sql = workload.feed_sql(number) if number else workload.base_sql()
        writer.ask(do="write", sql=sql, target=str(feed))
    writer.stop()
    processes = [Process(engine, root / f"engine_{place}", jars) for place, engine in enumerate(engines)]
    today = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    results = [Result(workload, engine, today) for engine in engines]
    for process in processes:
        process.ask(do="create", base=str(feeds[0]), rows=workload.rows)
    for number in range(1, workload.rounds + 1):
        for process, result in zip(processes, results, strict=True):
            figures = process.ask(do="merge", feed=str(feeds[number]))
            print(f"{workload.name} {number:2} {process.engine}: {figures['cpu']:.2f} CPU s", file=sys.stderr)
            result.rounds.append(figures)
    for process, result in zip(processes, results, strict=True):
        result.read = process.ask(do="read")
        if process.engine not in _KEEPS_NOTHING:
            target = root / f"{process.engine} exported"
            process.ask(do="export", target=str(target))
            result.differences = differences(feeds, target)
        process.stop()
    return results


def differences(feeds: list[Path], exported: Path) -> int:
    """How many rows a table has too many or too few, by DuckDB."""
    import duckdb

    changes = ", ".join(f"'{feed}/*.parquet'" for feed in feeds)
    connection = duckdb.connect()
    connection.execute(
        f"""
        create table expected as
        select * exclude (op, place) from (
            select *, row_number() over (partition by id order by updated_at desc) as place
            from read_parquet([{changes}])
        ) where place = 1 and op <> 'D'
        """
    )
    connection.execute(f"create table found as select * from read_parquet('{exported}/*.parquet')")
    missing, extra = (
        f"select * from {one} except all select * from {other}"
        for one, other in (("expected", "found"), ("found", "expected"))
    )
    row = connection.execute(f"select count(*) from (({missing}) union all ({extra}))").fetchone()
    assert row is not None
    return int(row[0])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--jars", type=Path, required=True, help="the folder of the programs' jars")
    parser.add_argument("--rows", type=int, default=2_000_000, help="rows of the large table (2,000,000)")
    parser.add_argument("--repeats", type=int, default=3, help="merges into it that are counted (3)")
    parser.add_argument("--workloads", default="", help="names, separated by semicolons (all)")
    parser.add_argument("--engines", default="", help="names, separated by semicolons (all)")
    parser.add_argument("--keep", type=Path, required=True, help="the folder that figures are kept in")
    parser.add_argument(
        "--report", type=Path, help="a page to write of all kept figures, with a plot beside it"
    )
    arguments = parser.parse_args()
    known = workloads(arguments.rows, arguments.repeats)
    for name in _names(arguments.workloads, known):
        engines = _names(arguments.engines, ENGINES)
        many = known[name].partitions > 2_000
        some = [engine for engine in engines if not many or engine in _MAKES_MANY_PARTITIONS]
        if not some:
            raise SystemExit(f"{name}: only for {'; '.join(_MAKES_MANY_PARTITIONS)}")
        with tempfile.TemporaryDirectory(prefix="lakemerge-bench-") as folder:
            results = measure(known[name], some, Path(folder), arguments.jars.resolve())
        print(page(results), flush=True)
        wrong = [result for result in results if result.differences]
        if wrong:
            raise SystemExit("; ".join(f"{name}, {r.engine}: {r.differences} rows differ" for r in wrong))
        keep(results, arguments.keep)
    if arguments.report:
        results = kept(arguments.keep, list(known.values()))
        arguments.report.write_text(page(results, plot=f"{arguments.report.stem}.svg"))
        plot(results, arguments.report.with_suffix(".svg"))


def _names(text: str, known: Collection[str]) -> list[str]:
    """The names in a text, separated by semicolons; all where there are none."""
    names = [name.strip() for name in text.split(";") if name.strip()] or list(known)
    unknown = [name for name in names if name not in known]
    if unknown:
        raise SystemExit(f"There is no {', '.join(unknown)}. There are: {'; '.join(known)}")
    return names


if __name__ == "__main__":
    main()
