"""A process of the soak of transfers: a writer, a reader, or a keeper who compacts and vacuums.

Usage: python -m kernel.soak_transfers_worker '{"conf": {…}, "role": "writer-3", "folder": "/…", "seed": 1,
"dies": ["swapped", 7] or null}'. It goes on where one of its name has ended, until the file ``done`` is in the folder.
With `dies` it dies when it has done this step for so many times.
"""

from __future__ import annotations

import datetime
import json
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kernel import bank
from kernel.faults import die
from lakemerge.errors import ClaimHeld, CommitConflict, CommitUnfinished
from lakemerge.kernel import Jvm, Kernel, Settings, ports_of, vacuum

#: Longer than any pinned read takes to open its files.
RETENTION = datetime.timedelta(seconds=60)


class Worker:
    """One process.

    Args:
        job: as above.
    """

    def __init__(self, job: dict[str, Any]) -> None:
        kind, _, number = job["role"].partition("-")
        self.number = int(number)
        self.folder = Path(job["folder"])
        self.dice = random.Random(f"{job['seed']} {job['role']} {time.time_ns()}")
        self._log = self.folder / f"{job['role']}.log"
        self.kernel = Kernel(
            ports_of(Jvm.launch(job["conf"])), Settings(lease_seconds=10), step=_dying(job["dies"])
        )
        self.work: Callable[[], dict[str, int]] = getattr(self, kind)
        self.auditor = bank.Auditor()
        self.next_transfer = bank.pinned(self.kernel).transfers.get(self.number, 0) + 1

    def run(self) -> None:
        while not (self.folder / "done").exists():
            counts = self.work()
            with self._log.open("a") as log:
                log.write(json.dumps(counts) + "\n")

    def writer(self) -> dict[str, int]:
        """The next transfer, redone until it stands."""
        conflicts = 0
        while True:
            try:
                bank.transfer(self.kernel, self.number, self.next_transfer)
                break
            except (CommitConflict, ClaimHeld):
                conflicts += 1
            except CommitUnfinished:
                break  # it stands, and whoever opens the tables next finishes it
        self.next_transfer += 1
        return {"transfer": self.next_transfer - 1, "conflicts": conflicts}

    def reader(self) -> dict[str, int]:
        """A pinned read, which must be right, and one without a pin, which may not be."""
        stood = acknowledged(self.folder)
        self.auditor.check(bank.pinned(self.kernel), stood)
        loose = bank.one_by_one(self.kernel)
        return {"pinned": 1, "loose": 1, "wrong": loose.total != bank.TOTAL}

    def keeper(self) -> dict[str, int]:
        """Write partitions again, and vacuum a table."""
        conflicts = done = 0
        table = self.dice.choice(bank.TABLES)
        for _ in range(5):
            try:
                bank.rewrite(self.kernel, table, f"p={self.dice.randrange(bank.PARTITIONS)}")
                done += 1
            except (CommitConflict, ClaimHeld):
                conflicts += 1
        try:
            freed = len(
                vacuum(self.kernel, table, retention=RETENTION, dry_run=False, allow_short_retention=True)
            )
        except (CommitConflict, ClaimHeld):
            return {"rewritten": done, "overtaken": conflicts + 1}
        time.sleep(1)
        return {"rewritten": done, "overtaken": conflicts, "vacuums": 1, "freed": freed}


def acknowledged(folder: Path) -> dict[int, int]:
    """The last transfer of each writer that it knows to stand; a line is written at once, or a kill cuts it off."""
    found = {}
    for log in folder.glob("writer-*.log"):
        lines = [line for line in log.read_text().split("\n")[:-1] if line.endswith("}")]
        if lines:
            found[int(log.stem.partition("-")[2])] = int(json.loads(lines[-1])["transfer"])
    return found


def _dying(plan: list[Any] | None) -> Callable[[str], None]:
    left = plan[1] if plan else 0

    def step(done: str) -> None:
        nonlocal left
        if plan and done == plan[0]:
            left -= 1
            if left == 0:
                die()

    return step


if __name__ == "__main__":
    Worker(json.loads(sys.argv[1])).run()
