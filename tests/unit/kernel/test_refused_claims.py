"""Claims that the metastore refuses: nothing has happened, so nothing is in doubt, and nothing stays behind."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from kernel.support import create, merge, rows_of, stage
from lakemerge.errors import CommitInDoubt
from lakemerge.kernel import Kernel, TableName, Transaction
from lakemerge.kernel.ports import HiveTable, Metastore, Refused
from lakemerge.testing import LateCalls, World

NAME, OTHER = TableName("s", "t"), TableName("s", "u")


class Strict:
    """A metastore that refuses rows with a parameter of a name, as MySQL does with values that it cannot hold."""

    def __init__(self, inner: Metastore) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def alter_table(self, name: TableName, table: HiveTable, **expected: Any) -> None:
        if "refused" in table.parameters:
            raise Refused("alter_table", "MetaException", "Incorrect string value")
        self._inner.alter_table(name, table, **expected)


def begin(kernel: Kernel, name: TableName, partition: str) -> Transaction:
    transaction = kernel.begin(name, "merge")
    stage(kernel, transaction, {partition: ["refused"]})
    transaction.set_parameters({"refused": "✗"})
    return transaction


@pytest.mark.parametrize("partition", ["p=1", ""])
def test_a_refused_claim_leaves_nothing(world: World, kernel: Kernel, partition: str) -> None:
    create(kernel, NAME, {partition: ["old"]})
    ports = world.process()
    strict: Any = Strict(ports.metastore)
    writer = Kernel(dataclasses.replace(ports, metastore=strict))
    transaction = begin(writer, NAME, partition)
    with pytest.raises(Refused), transaction:
        transaction.commit()
    assert transaction.state == "aborted"
    assert not kernel.files.exists(transaction.layout.data_of(transaction.txn))
    assert not kernel.files.exists(transaction.layout.manifest_of(transaction.txn))
    assert rows_of(kernel, NAME) == {partition: ["old"]}


def test_a_refused_decision_gives_the_other_tables_back(world: World, kernel: Kernel) -> None:
    for name in (NAME, OTHER):
        create(kernel, name, {"p=1": ["old"]})
    ports = world.process()
    strict: Any = Strict(ports.metastore)
    writer = Kernel(dataclasses.replace(ports, metastore=strict))
    transactions = [begin(writer, name, "p=1") for name in (NAME, OTHER)]
    with pytest.raises(Refused):
        writer.commit_together(transactions)
    assert [transaction.state for transaction in transactions] == ["open", "open"]
    for name in (NAME, OTHER):
        assert merge(kernel, name, {"p=1": ["next"]}) >= 2
        assert rows_of(kernel, name) == {"p=1": ["next"]}
    for transaction in transactions:
        transaction.abort()


def test_a_claim_that_is_refused_after_one_without_an_answer_stays_in_doubt(
    world: World, kernel: Kernel
) -> None:
    """The first one may still take effect."""
    create(kernel, NAME, {"p=1": ["old"]})
    ports = world.process()
    late = LateCalls(ports.metastore)

    class Refusing(Strict):
        def alter_table(self, name: TableName, table: HiveTable, **expected: Any) -> None:
            if late.on_their_way:
                raise Refused("alter_table", "MetaException", "no more")
            late.metastore.alter_table(name, table, **expected)

    refusing: Any = Refusing(ports.metastore)
    writer = Kernel(dataclasses.replace(ports, metastore=refusing))
    transaction = begin(writer, NAME, "p=1")
    late.lose("alter_table")
    with pytest.raises(CommitInDoubt), transaction:
        transaction.commit()
    assert transaction.state == "in doubt"
    late.arrive()
    world.running.discard(ports.host.owner().pid)
    kernel.recover(NAME)
    assert rows_of(kernel, NAME) == {"p=1": ["refused"]}
