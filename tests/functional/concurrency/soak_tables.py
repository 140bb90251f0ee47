"""Soak: merges in both write modes, compactions, vacuums and reads at once, in processes of dbt that are killed.

A Spark that knows nothing of lakemerge reads all the time. Each read must show the rows of one round of merges, and of
none before the last that had ended. Run by `make soak-tables`; it ends with the figures, or fails.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

from engines.plain_spark import PlainSpark
from functional.concurrency.balanced_feed import Expected, model, query
from functional.concurrency.conftest import STEPS, DbtCommands, DbtProject
from kernel.servers import MetastoreServer
from kernel.support import assert_nothing_orphaned, assert_whole
from lakemerge.java import ensure_java
from lakemerge.kernel import CompactionLog, Jvm, Kernel, TableName, ports_of

TABLES = {"copied": "copy_on_write", "on_read": "merge_on_read"}
# What may become of a run beside others without being a fault: run it again.
_AGAIN = ("CommitsExhausted", "ClaimHeld")
# Of one command: a merge is redone up to ten times, beside three other Sparks, and whoever claims is waited for.
_MOST_SECONDS = 900.0
# Seconds until each table has been merged into and read: each process has a Spark to start first.
_MOST_TO_BEGIN = 2400.0
# Longer than a query takes on a busy machine.
_RETENTION = {"retention_hours": 0.1, "allow_short_retention": True}
_CARE = (
    ("lakemerge_compact", {"select": "copied"}),
    ("lakemerge_compact", {"select": "on_read", "deltas": "minor"}),
    ("lakemerge_compact", {"select": "*", "sort_by": ["amount"]}),
    ("lakemerge_compact", {"select": "on_read"}),
    ("lakemerge_vacuum", {"select": "*", **_RETENTION, "dry_run": False}),
    ("lakemerge_compact", {"select": "copied", "zorder_by": ["amount", "round"]}),
)


class Killed(Exception):
    """The process of a role was killed in the midst of a command."""


class Soak:
    """The roles, each with a thread here and a process of dbt at a time."""

    def __init__(self, project: DbtProject, args: argparse.Namespace) -> None:
        self._project, self._args = project, args
        self._dice = random.Random(args.seed)
        self._expected = Expected()
        self._until = time.monotonic() + _MOST_TO_BEGIN
        self._processes: dict[str, Any] = {}
        self._killed: set[int] = set()
        self._failed = threading.Event()
        self.rounds = dict.fromkeys(TABLES, 1)
        self.counts: Counter[str] = Counter()
        self.kills: Counter[str] = Counter()

    def run(self, reader: PlainSpark) -> None:
        """Let all work until the time is over; fails as soon as one of them has."""
        roles: dict[str, Callable[[Callable[..., bool]], None]] = {
            **{table: lambda run, table=table: self._merge(run, table) for table in TABLES},  # type: ignore[misc]
            "keeper": self._care,
        }
        with ThreadPoolExecutor(len(roles) + 2) as pool:
            futures = [
                pool.submit(self._guarded, self._play, role, number, turn)
                for number, (role, turn) in enumerate(roles.items(), 1)
            ]
            futures += [
                pool.submit(self._guarded, self._read, reader),
                pool.submit(self._guarded, self._kill),
            ]
            wait(futures, return_when=FIRST_EXCEPTION)
            for future in futures:
                future.result()

    def _guarded(self, work: Callable[..., None], *arguments: Any) -> None:
        try:
            work(*arguments)
        except BaseException:
            self._failed.set()
            raise

    @property
    def _goes_on(self) -> bool:
        return time.monotonic() < self._until and not self._failed.is_set()

    # -- roles ---------------------------------------------------------------------------------

    def _play(self, role: str, number: int, turn: Callable[[Callable[..., bool]], None]) -> None:
        """One turn after another: some in a process of its own that dies at a step, the others in one that stays."""
        while self._goes_on:
            try:
                if self._dice.random() < 0.5:
                    turn(lambda *arguments: self._alone(role, number, *arguments))
                    continue
                with self._project.commands(number, most_seconds=_MOST_SECONDS) as dbt:
                    try:
                        for _ in range(8):
                            if self._goes_on:
                                turn(lambda *arguments: self._within(dbt, *arguments))
                                # who has not begun to work is not worth a kill
                                self._processes[role] = dbt.process
                    finally:
                        self._processes.pop(role, None)
            except Killed:
                continue

    def _alone(self, role: str, number: int, *arguments: str) -> bool:
        step = self._dice.choice(STEPS)
        process = self._project.start(*arguments, number=number, dies_at=step)
        output = self._said(process, arguments)
        if process.returncode == -signal.SIGKILL:
            self.kills[step] += 1
            raise Killed
        return self._stands(process.returncode == 0, arguments, output)

    @staticmethod
    def _said(process: subprocess.Popen[str], arguments: tuple[str, ...]) -> str:
        """What a process printed, once it and its Java have ended; one that hangs fails with its threads' stacks."""
        try:
            return process.communicate(timeout=_MOST_SECONDS)[0]
        except subprocess.TimeoutExpired:
            ended = process.poll()
            process.send_signal(signal.SIGABRT)
            found = f"{arguments}: not done within {_MOST_SECONDS:.0f} s"
            if ended is not None:
                raise AssertionError(f"{found}: ended with {ended}, and its Java goes on") from None
            raise AssertionError(f"{found}: {process.communicate(timeout=60)[0]}") from None

    def _within(self, dbt: DbtCommands, *arguments: str) -> bool:
        try:
            answer = dbt(*arguments)
        except (AssertionError, OSError):
            # not what hung and was ended for that
            if dbt.process.pid in self._killed:
                raise Killed from None
            raise
        return self._stands(answer["success"], arguments, answer["message"])

    def _stands(self, success: bool, arguments: tuple[str, ...], said: str) -> bool:
        if not success:
            assert any(error in said for error in _AGAIN), f"{arguments}: {said[-4000:]}"
            self.counts["given up"] += 1
        return success

    def _merge(self, run: Callable[..., bool], table: str) -> None:
        """The next round, again and again until a run of it has ended well."""
        number = self.rounds[table] + 1
        if run("run", "--select", table, "--vars", f"round: {number}"):
            self.rounds[table] = number
            self.counts[f"merges into {table}"] += 1

    def _care(self, run: Callable[..., bool]) -> None:
        operation, arguments = self._dice.choice(_CARE)
        if run("run-operation", operation, "--args", json.dumps(arguments)):
            self.counts[operation] += 1

    def _read(self, reader: PlainSpark) -> None:
        while self._goes_on:
            for table in TABLES:
                self.read(reader, table)
                self.counts["reads"] += 1

    def read(self, reader: PlainSpark, table: str) -> None:
        """One read, which must be right."""
        stood = self.rounds[table]
        (found,) = reader.sql(query(f"{self._project.name}.{table}"))
        self._expected.check(found, stood)

    def _kill(self) -> None:
        """Begin to count the time when all have begun, and kill whoever is at work, at any moment."""
        while self._goes_on and not all(self.counts[one] for one in self._beginning):
            time.sleep(0.5)
        missing = [one for one in self._beginning if not self.counts[one]]
        assert not missing, f"none in {_MOST_TO_BEGIN:.0f} s: {missing}"
        self._until = time.monotonic() + 60 * self._args.minutes
        while self._goes_on:
            print(f"{dict(self.counts)}, {self.kills.total()} killed", file=sys.stderr)
            time.sleep(self._dice.uniform(0.5, 1.5) * self._args.kill_every)
            if at_work := list(self._processes.values()):
                victim = self._dice.choice(at_work)
                self._killed.add(victim.pid)
                victim.kill()
                self.kills["any moment"] += 1

    @property
    def _beginning(self) -> list[str]:
        return [*(f"merges into {table}" for table in TABLES), "reads"]


def report(soak: Soak, kernel: Kernel, project: DbtProject, seconds: float) -> None:
    counts = soak.counts
    merges = ", ".join(f"{counts[f'merges into {table}']} {mode}" for table, mode in TABLES.items())
    print(
        f"merges in {seconds:.0f} s: {merges}; {counts['lakemerge_compact']} compactions by hand, "
        f"{counts['lakemerge_vacuum']} vacuums, {counts['given up']} runs given up and run again"
    )
    print(f"{soak.kills.total()} processes killed: {dict(soak.kills.most_common())}")
    for table in TABLES:
        name = TableName(project.name, table)
        made = Counter(f"{one.action} {one.state}" for one in CompactionLog(kernel, name).records())
        print(
            f"{table}: {kernel.settled(name)[1].version} versions; logged compactions: {dict(made.most_common())}"
        )
    print(f"{counts['reads']} reads by a Spark without lakemerge: each of one round, none of an old one")
    print("at the end all rounds are in both tables, and no file is left over")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument(
        "--kill-every", type=float, default=20.0, help="seconds between kills at any moment (20)"
    )
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    ensure_java()
    # few enough for compactions of deltas beside all the rest
    os.environ["MOST_DELTAS"] = "4"
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        (root := Path(folder) / "soaked").mkdir()
        server = MetastoreServer(Path(folder), transaction_tables=False).start()
        try:
            project = DbtProject(root, server)
            for table, mode in TABLES.items():
                project.write(f"models/{table}.sql", model(mode))
            for number in (1, 2):  # the second merge on read is the one that makes the view
                project.run("run", "--vars", f"round: {number}")
            soak = Soak(project, args)
            soak.rounds = dict.fromkeys(TABLES, 2)
            reader = PlainSpark(server.spark_conf, Path(folder))
            began = time.monotonic()
            soak.run(reader)
            seconds = time.monotonic() - began
            kernel = Kernel(ports_of(Jvm.launch(server.client_conf)))
            for table in TABLES:
                name = TableName(project.name, table)
                kernel.recover(name)
                soak.read(reader, table)
                assert_whole(kernel, name)
                assert_nothing_orphaned(kernel, name)
                soak.read(reader, table)
            reader.stop()
            assert soak.counts["reads"] > 0, "nothing was read"
            report(soak, kernel, project, seconds)
        finally:
            server.stop()


if __name__ == "__main__":
    main()
