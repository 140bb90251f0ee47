"""The metastore of tests whose calls time out before they are carried out."""

from __future__ import annotations

import pytest

from kernel.support import create, rows_of
from lakemerge.kernel import Kernel, TableName
from lakemerge.kernel.ports import Refused, ReplyLost
from lakemerge.testing import LateCalls, World, carry_out

NAME = TableName("s", "t")


def test_a_late_call_takes_effect_when_it_arrives(world: World, kernel: Kernel) -> None:
    create(kernel, NAME, {"p=1": ["one"], "p=2": ["two"]})
    late = LateCalls(world.metastore)
    late.lose("drop_partition")
    with pytest.raises(ReplyLost):
        late.metastore.drop_partition(NAME, ["1"])
    late.metastore.drop_partition(NAME, ["2"])
    assert rows_of(kernel, NAME) == {"p=1": ["one"]}
    late.arrive()
    assert rows_of(kernel, NAME) == {}
    assert late.on_their_way == []


def test_a_late_call_that_is_refused_harms_nobody(world: World) -> None:
    late = LateCalls(world.metastore)
    late.lose("add_partitions")
    with pytest.raises(ReplyLost):
        late.metastore.add_partitions(NAME, [None])  # type: ignore[list-item]
    (call,) = late.on_their_way
    with pytest.raises(Refused):
        call()
    assert not carry_out(call)
    late.arrive()
