"""What operators do about a version that the metastore refuses."""

from __future__ import annotations

from dataclasses import dataclass

from lakemerge.kernel import Kernel
from simulation.operations import Model, Operation


@dataclass
class Undo(Operation):
    """A recovery that ends what is refused.

    Attributes:
        seconds: until then.
    """

    seconds: float = 0.0

    def apply(self, model: Model) -> None:
        raise AssertionError("what it makes leaves the rows as they are")

    def attempt(self, kernel: Kernel) -> int | None:
        kernel.clock.sleep(self.seconds)
        kernel.recover(self.table, undo_refused=True)
        return None
