"""Files that land in a folder, and runs that read each of them once into a table."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from lakemerge.ingest import FileLedger, LandingRules, ReadFile, look
from lakemerge.kernel import Kernel
from lakemerge.kernel.ports.filesystem import FileSystem
from lakemerge.kernel.ports.names import DEFAULT_PARTITION
from simulation.checker import Violation
from simulation.operations import Model, Operation, count

LANDING = "memory:/landing"
_SETTLES = 1


@dataclass
class Land(Operation):
    """A program that is not ours puts a file there: the operation's label is what is in it."""

    def apply(self, model: Model) -> None:
        raise AssertionError("it makes no version")

    def attempt(self, kernel: Kernel) -> int | None:
        kernel.files.write_text(f"{LANDING}/{self.label}", self.label)
        return None


@dataclass
class Ingest(Operation):
    """A run: the files that the ledger does not have, as rows in the commit that adds them to it.

    Attributes:
        most: files at most.
        anew: whether it replaces the table and reads all files again.
        rows: by the transactions that tried it.
    """

    most: int = 0
    anew: bool = False
    rows: dict[str, list[str]] = field(default_factory=dict)

    def apply(self, model: Model) -> None:
        rows = self.rows[self.decided]
        if self.anew:
            model.facts = []
        if twice := set(rows) & set(model.facts):
            raise Violation(f"{self} has read {sorted(twice)} once more")
        model.facts += rows

    def attempt(self, kernel: Kernel) -> int | None:
        transaction = self.began(kernel.begin(self.table, "ingest"))
        with transaction:
            if self.anew:
                transaction.replace_all()
            ledger = FileLedger.of(kernel.files, transaction, replaced=self.anew)
            rules = LandingRules((f"{LANDING}/*",), settle_seconds=_SETTLES, max_files=self.most)
            now = int(kernel.clock.now().timestamp() * 1000)
            chosen = look(kernel.files, rules, ledger, now).chosen
            if not chosen:
                return None
            rows = self.rows[transaction.txn] = [kernel.files.read_text(entry.path) for entry in chosen]
            folder = f"{transaction.stage_directory}/p={len(rows) % 2}/c={DEFAULT_PARTITION}"
            kernel.files.write_text(f"{folder}/part-0.orc", json.dumps(rows))
            transaction.add_staged()
            if self.anew:
                transaction.properties = {"rows": len(rows)}
            else:
                count(transaction, len(rows))
            batch = ledger.last_batch + 1
            read = [ReadFile(entry.path, entry.size, entry.modified, batch) for entry in chosen]
            ledger.record(transaction, read)
            return transaction.commit()


def check(files: FileSystem, facts: list[str]) -> None:
    """Every file is in the table once, when a last run has found nothing more."""
    landed = sorted(files.read_text(entry.path) for entry in files.list(LANDING))
    if landed != sorted(facts):
        raise Violation(f"the table holds {sorted(facts)}; there have landed {landed}")
