"""Named streams, which write numbered batches."""

from __future__ import annotations

from dataclasses import dataclass, field

from lakemerge import writer
from lakemerge.errors import ClaimHeld, CommitConflict, CommitUnfinished, MetastoreError, StorageError
from lakemerge.kernel import Kernel
from lakemerge.writer import Writer
from simulation.intents import Violation
from simulation.operations import Model, Operation


@dataclass
class Batches(Operation):
    """Numbered batches of a named stream, each written again until the writer knows that it is there.

    Attributes:
        conflicts: how batches ended that were written for nothing, and how many seconds they had taken.
    """

    writer: str = ""
    count: int = 3
    conflicts: list[tuple[str, float]] = field(default_factory=list)

    def apply(self, model: Model) -> None:
        raise AssertionError("it makes several versions")

    def facts(self) -> list[str]:
        """The rows of all batches."""
        return [f"{self.writer} {number}" for number in range(1, self.count + 1)]

    def attempt(self, kernel: Kernel) -> int | None:
        for _ in range(5):
            try:
                with writer.open(str(self.table), kernel, name=self.writer) as batches:
                    for number in range(1, self.count + 1):
                        self._write(kernel, batches, number)
                return None
            except (StorageError, MetastoreError, ClaimHeld, CommitUnfinished):
                kernel.clock.sleep(kernel.host.chance() * 10)
        raise StorageError(expected="the batches to be written", found="too many faults", action="None.")

    def _write(self, kernel: Kernel, batches: Writer, number: int) -> None:
        for left in reversed(range(3)):
            began = kernel.clock.monotonic()
            try:
                batches.write([(f"{self.writer} {number}", "x")])
                batches.commit(number)
                return
            except CommitUnfinished:
                return
            except CommitConflict as error:
                text = f"batch {number}: {error}".replace("\n", " ")
                self.conflicts.append((text, kernel.clock.monotonic() - began))
                raise
            except (StorageError, MetastoreError, ClaimHeld):
                batches.abort()
                if not left:
                    raise
                kernel.clock.sleep(kernel.host.chance() * 20)

    def check(self, facts: list[str], *, undisturbed: bool, retention: float) -> None:
        """An acknowledged stream is there as a whole, and has met no conflict if nothing disturbed it.

        A batch that takes longer than a vacuum's retention may find the versions since its beginning gone.

        Args:
            retention: in seconds.

        Raises:
            Violation: something lacks.
        """
        if self.outcome == "acknowledged" and (missing := set(self.facts()) - set(facts)):
            raise Violation(f"{self} was acknowledged, and lacks {sorted(missing)}")
        in_vain = [text for text, took in self.conflicts if "vacuumed" not in text or took < retention]
        if in_vain and undisturbed:
            raise Violation(f"{self} had to write batches again: {in_vain}")
