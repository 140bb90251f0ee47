"""How long readers see a commit in some of its tables only: so many metastore calls, whatever it moves."""

from __future__ import annotations

import pytest

from kernel.counted import counted
from kernel.support import create, stage
from lakemerge.kernel import Kernel, TableName
from lakemerge.testing import World


@pytest.mark.parametrize(("count", "calls_between"), [(2, 11), (5, 44)])
@pytest.mark.parametrize("partitions", [1, 20])
def test_the_calls_between_the_first_and_the_last_swap(
    world: World, count: int, calls_between: int, partitions: int
) -> None:
    names = [TableName("s", f"t{number}") for number in range(count)]
    rows = {f"p={number}": ["x"] for number in range(partitions)}
    for name in names:
        create(Kernel(world.process()), name, rows)
    ports, calls = counted(world.process())
    swaps = []
    kernel = Kernel(ports, step=lambda step: swaps.append(len(calls)) if step == "swapped" else None)
    kernel.versions.compares(names[0])
    transactions = [kernel.begin(name, "merge") for name in names]
    for txn in transactions:
        txn.read()
        stage(kernel, txn, rows)
    kernel.commit_together(transactions)
    assert len(swaps) == count
    assert swaps[-1] - swaps[0] == calls_between
