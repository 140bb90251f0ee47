"""Tables that are dropped and made again while others work on them."""

from __future__ import annotations

from dataclasses import dataclass

from lakemerge.kernel import Kernel
from lakemerge.kernel.maintenance.drop import drop
from lakemerge.kernel.table.definition import TABLE_ID
from lakemerge.kernel.table.overlay import find_row
from simulation.checker import Violation
from simulation.operations import Create, Model, Operation
from simulation.watched import WatchedMetastore


@dataclass
class Drop(Operation):
    """The table with all its versions."""

    def apply(self, model: Model) -> None:
        raise AssertionError("it makes no version")

    def attempt(self, kernel: Kernel) -> int | None:
        watched: WatchedMetastore = kernel.metastore.inner  # type: ignore[attr-defined]
        table = find_row(watched, self.table)
        drop(kernel, self.table)
        table_id = table.parameters.get(TABLE_ID) if table else None
        if table_id and table_id not in watched.checker.dropped:
            raise Violation(f"{self.table} ({table_id}) is said to be dropped, and is not")
        return None


@dataclass
class Remake(Create):
    """The table again, where there is none."""

    def attempt(self, kernel: Kernel) -> int | None:
        return None if kernel.exists(self.table) else super().attempt(kernel)
