"""What a whole `dbt run` costs, from an empty process to its end, beside one of dbt-spark on the same Spark settings.

    make bench-start

- lakemerge: an incremental model that merges 10 rows into a table of 100 rows,
- lakemerge, archived: the same, after `lakemerge archive-classes`,
- dbt-spark: a model `select 1` as a table, in a session of its own (`method: session`),
- Spark: a program that does nothing but start a session with Hive support and run that `create table`.

CPU seconds are those of the command and of all processes that it has started, Java among them. The commands take turns,
and the first of each is not counted. Both projects are parsed before, as they are in a project that is in use.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

_MERGED = """
{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id', sequence_by='version') }}
select id, unix_micros(current_timestamp()) as version, concat('name ', id) as name
from range({{ 10 if is_incremental() else 100 }})
"""
_SETTINGS = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "8", "spark.driver.memory": "2g"}
_PROJECT = "name: start\nprofile: start\nmodel-paths: [models]\n"
_PROFILE = "start: {{target: start, outputs: {{start: {{{keys}, schema: start, threads: 1}}}}}}\n"
_PLAIN = """
import sys
from pyspark.sql import SparkSession
builder = SparkSession.builder.master("local[*]").enableHiveSupport()
for setting in sys.argv[1:]:
    builder = builder.config(*setting.split("=", 1))
spark = builder.getOrCreate()
spark.sql("drop table if exists one")
spark.sql("create table one as select 1 as one")
spark.stop()
"""
_SET_CHILD_SUBREAPER = 36


@dataclass
class Command:
    """A command that is run as a process of its own, again and again.

    Attributes:
        cache: the user's folder for what can be made again, such as an archive of classes.
        cpu: CPU seconds of each run.
        wall: seconds that passed.
    """

    name: str
    folder: Path
    arguments: list[str]
    cache: Path
    cpu: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)

    def run(self) -> None:
        """Run it once; ends the program with its output if it fails."""
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        environment = {**os.environ, "DBT_SEND_ANONYMOUS_USAGE_STATS": "false"}
        environment["XDG_CACHE_HOME"] = str(self.cache)
        done = subprocess.run(
            self.arguments, cwd=self.folder, env=environment, capture_output=True, text=True, check=False
        )
        reap_orphans()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode:
            raise SystemExit(f"{self.name} failed: {done.stdout[-3000:]}{done.stderr[-3000:]}")
        self.cpu.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        self.wall.append(time.perf_counter() - start)

    def __str__(self) -> str:
        cpu, wall = statistics.median(self.cpu[1:]), statistics.median(self.wall[1:])
        return f"{self.name:19} {cpu:6.2f} CPU s {wall:6.2f} s"


def adopt_orphans() -> None:
    """Become the parent of processes whose own has ended, as Java often outlives the Python that has started it.

    Else nobody would tell this process their seconds. Linux only.
    """
    if ctypes.CDLL(None, use_errno=True).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise SystemExit(
            f"Expected Linux, to count the seconds of all processes; found {os.strerror(ctypes.get_errno())}."
        )


def reap_orphans() -> None:
    """Wait for the end of all of them."""
    while True:
        try:
            os.wait()
        except ChildProcessError:
            return


def commands(root: Path) -> dict[str, Command]:
    """The commands, each with a folder and a metastore of its own."""
    dbt = [sys.executable, "-m", "dbt.cli.main", "--quiet", "run", "--profiles-dir", "."]
    settings = ", ".join(f'{key}: "{value}"' for key, value in _SETTINGS.items())
    lakemerge = f"type: lakemerge, server_side_parameters: {{{settings}}}"
    for folder in ("lakemerge", "archived"):
        _write_project(root / folder, lakemerge, {"merged.sql": _MERGED})
    derby = f"spark.sql.warehouse.dir: {root}/spark/warehouse"
    session = f"type: spark, method: session, host: none, server_side_parameters: {{{settings}, {derby}}}"
    _write_project(
        root / "spark", session, {"one.sql": "{{ config(materialized='table') }}\nselect 1 as one\n"}
    )
    (root / "plain").mkdir()
    (root / "plain" / "plain.py").write_text(_PLAIN)
    plain = [
        f"{key}={value}"
        for key, value in {**_SETTINGS, "spark.sql.warehouse.dir": f"{root}/plain/warehouse"}.items()
    ]
    # without `--vars`: dbt parses all of a project again if they have changed
    empty = root / "empty"
    made = (
        Command("lakemerge", root / "lakemerge", dbt, empty),
        Command("lakemerge, archived", root / "archived", dbt, root / "cache"),
        Command("dbt-spark", root / "spark", dbt, empty),
        Command("Spark", root / "plain", [sys.executable, "plain.py", *plain], empty),
    )
    return {command.name: command for command in made}


def _write_project(folder: Path, keys: str, models: Mapping[str, str]) -> None:
    (folder / "models").mkdir(parents=True)
    (folder / "dbt_project.yml").write_text(_PROJECT)
    (folder / "profiles.yml").write_text(_PROFILE.format(keys=keys))
    for name, text in models.items():
        (folder / "models" / name).write_text(text)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5, help="runs to measure of each (5)")
    rounds = parser.parse_args().rounds
    adopt_orphans()
    with tempfile.TemporaryDirectory(prefix="lakemerge-bench-") as folder:
        made = commands(Path(folder))
        archive = [
            sys.executable,
            "-c",
            "from dbt.adapters.lakemerge.cli import cli; cli()",
            "archive-classes",
        ]
        Command("archive-classes", Path(folder), archive, made["lakemerge, archived"].cache).run()
        for _ in range(rounds + 1):
            for command in made.values():
                command.run()
                print(f"{command.name}: {command.cpu[-1]:.2f} CPU s", file=sys.stderr)
        for command in made.values():
            print(command)
        theirs = statistics.median(made["dbt-spark"].cpu[1:])
        for name in ("lakemerge", "lakemerge, archived"):
            print(f"{name} / dbt-spark: {statistics.median(made[name].cpu[1:]) / theirs:.2f}")


if __name__ == "__main__":
    main()
