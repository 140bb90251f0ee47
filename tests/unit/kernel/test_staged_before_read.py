"""Transactions that stage rows before they read: what they have staged is of the version that they began on."""

from __future__ import annotations

import pytest

from kernel.support import KEYS, WIDER_COLUMNS, create, merge, rows_of, stage
from lakemerge.errors import CommitConflict
from lakemerge.kernel import HiveColumn, Kernel, TableName
from lakemerge.testing import World

NAME = TableName("s", "t")


@pytest.mark.parametrize(
    ("columns", "keys"),
    [
        pytest.param(None, (HiveColumn("q", "string"),), id="other-partitions"),
        pytest.param(WIDER_COLUMNS, KEYS, id="other-columns"),
    ],
)
def test_what_was_staged_for_other_columns_is_a_conflict(
    world: World, columns: tuple[HiveColumn, ...] | None, keys: tuple[HiveColumn, ...]
) -> None:
    kernel, other = Kernel(world.process()), Kernel(world.process())
    create(kernel, NAME, {"p=1": ["first"]})
    with kernel.begin(NAME, "merge") as transaction:
        stage(kernel, transaction, {"p=1": ["mine"]})
        with other.begin(NAME, "replace") as replacement:
            assert replacement.base is not None
            replacement.replace_all()
            replacement.set_schema(columns or replacement.base.columns, keys)
            stage(other, replacement, {f"{keys[0].name}=1": ["theirs"]})
            replacement.commit()
        with pytest.raises(CommitConflict, match="columns"):
            transaction.read({"p=1"})
    assert rows_of(kernel, NAME) == {f"{keys[0].name}=1": ["theirs"]}


def test_what_was_staged_for_the_same_columns_may_follow(world: World) -> None:
    kernel, other = Kernel(world.process()), Kernel(world.process())
    create(kernel, NAME, {"p=1": ["first"], "p=2": ["first"]})
    with kernel.begin(NAME, "merge") as transaction:
        stage(kernel, transaction, {"p=1": ["mine"]})
        merge(other, NAME, {"p=2": ["theirs"]})
        transaction.read({"p=1"})
        assert transaction.commit() == 3
    assert rows_of(kernel, NAME) == {"p=1": ["mine"], "p=2": ["theirs"]}
