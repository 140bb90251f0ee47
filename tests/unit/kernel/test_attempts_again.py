"""Transactions that are used again after a refusal: they ask for nothing that only the refused attempt was to do."""

from __future__ import annotations

import pytest

from kernel.support import create, merge, rows_of, stage
from lakemerge.errors import CommitConflict
from lakemerge.kernel import Kernel, TableName

NAMES = TableName("s", "a"), TableName("s", "b")


def test_what_was_refused_as_a_group_can_be_committed_alone(kernel: Kernel) -> None:
    """Alone it belongs to no group: whoever finishes it must ask no other table."""
    transactions = []
    for name in NAMES:
        create(kernel, name, {"p=1": ["old"]})
        transaction = kernel.begin(name, "merge")
        transaction.read(["p=1"])
        stage(kernel, transaction, {"p=1": ["new"]})
        transactions.append(transaction)
    merge(kernel, NAMES[1], {"p=1": ["first"]})
    with pytest.raises(CommitConflict):
        kernel.commit_together(transactions)
    assert transactions[0].commit() == 2
    made = transactions[0].made
    assert made is not None
    assert made.group is None
    assert "groups" not in made.writer_features
    assert not kernel.files.exists(transactions[0].layout.group_of(made.txn))
    assert [rows_of(kernel, name) for name in NAMES] == [{"p=1": ["new"]}, {"p=1": ["first"]}]


def test_side_data_that_was_asked_for_can_be_taken_back(kernel: Kernel) -> None:
    create(kernel, NAMES[0], {"p=1": ["old"]})
    for _ in range(2):
        with kernel.begin(NAMES[0], "consume") as transaction:
            transaction.add_sidecar("consumed", transaction.sidecar_directory("consumed"))
            transaction.add_sidecar("ledger", transaction.sidecar_directory("ledger"))
            transaction.commit()
    late = kernel.begin(NAMES[0], "consume")
    folder = late.sidecar_directory("consumed")
    late.set_sidecars("consumed", [folder], keep_later=True)
    late.add_sidecar("ledger", late.sidecar_directory("ledger"))
    with kernel.begin(NAMES[0], "consume") as other:
        other.set_sidecars("consumed", [other.sidecar_directory("consumed")], keep_later=True)
        other.commit()
    with pytest.raises(CommitConflict):
        late.commit()
    late.forget_side_data("consumed")
    late.add_sidecar("consumed", folder)
    late.commit()
    found = kernel.settled(NAMES[0])[1].sidecars
    assert (len(found["consumed"]), len(found["ledger"])) == (2, 3)
