"""Soak: transfers between accounts in two tables, by processes that are killed, while others read both at one moment.

Every pinned read must show the same sum, each transfer in both tables or in none, and all that was acknowledged before
it began. Partitions are compacted and versions vacuumed meanwhile. Run by `make soak-transfers`; it ends with the
figures, or fails.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from bounded import MOST_SECONDS
from kernel import bank
from kernel.crowd import Crowd
from kernel.groups import STEPS
from kernel.servers import MetastoreServer
from kernel.soak_transfers_worker import acknowledged
from kernel.support import assert_nothing_orphaned, assert_whole
from lakemerge.java import ensure_java
from lakemerge.kernel import Jvm, Kernel, ports_of

# Seconds until the first transfer: each process has a Java to start first.
_MOST_TO_BEGIN = 2400.0


class Soak:
    """The processes, and the kills."""

    def __init__(self, folder: Path, conf: dict[str, str], args: argparse.Namespace) -> None:
        self._folder, self._conf, self._args = folder, conf, args
        self._dice = random.Random(args.seed)
        self._plans: dict[str, list[Any] | None] = {}
        # Of each role's log, when its process was started.
        self._lines_before: dict[str, int] = {}
        self._until = 0.0
        self.kills: Counter[str] = Counter()
        self.crowd = Crowd("kernel.soak_transfers_worker", folder, self._job)

    def _job(self, role: str) -> dict[str, Any]:
        """Half of the writers' processes die by themselves, at a step of some commit."""
        at_step = role.startswith("writer") and self._dice.random() < 0.5
        plan = [self._dice.choice(STEPS), self._dice.randint(3, 30)] if at_step else None
        self._plans[role] = plan
        self._lines_before[role] = self._lines(role)
        return {
            "conf": self._conf,
            "role": role,
            "folder": str(self._folder),
            "seed": self._args.seed,
            "dies": plan if time.monotonic() < self._until else None,
        }

    def run(self) -> None:
        """Let all work and some die for the given time from the first transfer on, then let them end."""
        args = self._args
        self._until = time.monotonic() + _MOST_TO_BEGIN
        kinds = {"writer": args.writers, "reader": args.readers, "keeper": 1}
        self.crowd.start(f"{kind}-{number}" for kind, many in kinds.items() for number in range(many))
        while not acknowledged(self._folder):
            assert time.monotonic() < self._until, f"no transfer in {_MOST_TO_BEGIN:.0f} s"
            time.sleep(0.2)
            self._start_again()
        self._until = time.monotonic() + 60 * args.minutes
        next_kill = next_word = time.monotonic() + args.kill_every
        while time.monotonic() < self._until:
            time.sleep(0.2)
            at_work = [role for role in self.crowd.processes if self._is_target(role)]
            if time.monotonic() > next_kill and at_work:
                self.crowd.kill(self._dice.choice(at_work))
                next_kill = time.monotonic() + args.kill_every
            self._start_again()
            if time.monotonic() > next_word:
                done = sum(acknowledged(self._folder).values())
                print(f"{done} transfers, {self.kills.total()} killed", file=sys.stderr)
                next_word += 10
        (self._folder / "done").touch()
        while self.crowd.processes and time.monotonic() < self._until + MOST_SECONDS:
            time.sleep(0.2)
            self._start_again()
        assert not self.crowd.processes, (
            f"not done {MOST_SECONDS:.0f} s after the end: {list(self.crowd.processes)}"
        )

    def _is_target(self, role: str) -> bool:
        """Whether a process has begun to work, and will not die by itself."""
        return self._plans[role] is None and self._lines(role) > self._lines_before[role]

    def _lines(self, role: str) -> int:
        log = self._folder / f"{role}.log"
        return log.read_text().count("\n") if log.exists() else 0

    def _start_again(self) -> None:
        died = self.crowd.collect()
        for role in died:
            plan = self._plans[role]
            self.kills[plan[0] if plan else "any moment"] += 1
        self.crowd.start(died)


def report(soak: Soak, kernel: Kernel, folder: Path, books: bank.Books, seconds: float) -> None:
    counts: Counter[str] = Counter()
    for log in folder.glob("*-*.log"):
        for line in log.read_text().splitlines():
            counts.update(json.loads(line))
    transfers = sum(books.transfers.values())
    versions = ", ".join(f"{table.name} {kernel.settled(table)[1].version}" for table in bank.TABLES)
    print(
        f"{transfers} transfers by {len(books.transfers)} writers in {seconds:.0f} s ({transfers / seconds:.1f} a "
        f"second), {counts['conflicts']} redone; versions: {versions}"
    )
    print(f"{soak.kills.total()} processes killed: {dict(soak.kills.most_common())}")
    print(
        f"{counts['rewritten']} partitions compacted meanwhile ({counts['overtaken']} overtaken), {counts['freed']} "
        f"folders and files freed by {counts['vacuums']} vacuums"
    )
    print(
        f"{counts['pinned']} pinned reads, each with all of every transfer; of {counts['loose']} reads of one table "
        f"after the other, {counts['wrong']} had another sum"
    )
    print("no transfer is lost, none is there twice, and no file is left over")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=3.0)
    parser.add_argument("--writers", type=int, default=4)
    parser.add_argument("--readers", type=int, default=1)
    parser.add_argument(
        "--kill-every", type=float, default=4.0, help="seconds between kills at any moment (4)"
    )
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    ensure_java()
    with tempfile.TemporaryDirectory(prefix="soak-") as name:
        folder = Path(name)
        server = MetastoreServer(folder, transaction_tables=False).start()
        try:
            kernel = Kernel(ports_of(Jvm.launch(server.client_conf)))
            bank.open_bank(kernel, args.writers)
            soak = Soak(folder, server.client_conf, args)
            began = time.monotonic()
            try:
                soak.run()
            finally:
                soak.crowd.end()
            seconds = time.monotonic() - began
            for table in bank.TABLES:
                kernel.recover(table)
            books = bank.pinned(kernel)
            bank.Auditor().check(books, acknowledged(folder))
            assert sum(books.transfers.values()) > 0, "nothing was done"
            for table in bank.TABLES:
                assert_whole(kernel, table)
                assert_nothing_orphaned(kernel, table)
            report(soak, kernel, folder, books, seconds)
        finally:
            server.stop()


if __name__ == "__main__":
    main()
