"""How many requests commits send to an object store: `make test-cluster`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from engines.s3 import S3
from kernel.support import append, create, create_appendable, merge, stage
from lakemerge.kernel import Kernel, TableName, vacuum

Work = Callable[[Kernel, TableName], object]


def merge_one(kernel: Kernel, name: TableName) -> object:
    return merge(kernel, name, {"p=1": ["new"]})


def commit_twenty(kernel: Kernel, name: TableName) -> object:
    txn = kernel.begin(name, "merge")
    stage(kernel, txn, {f"p={number}": ["new"] for number in range(20)})
    return txn.commit()


@pytest.mark.parametrize(
    ("make", "work", "most"),
    [
        (create, merge_one, 25),
        (create, commit_twenty, 85),
        (create_appendable, lambda kernel, name: append(kernel, name, {"p=21": ["new"]}), 25),
        (create, lambda kernel, name: vacuum(kernel, name), 90),
        (create, lambda kernel, name: kernel.recover(name), 55),
    ],
    ids=["merge of one partition", "merge of twenty partitions", "append", "vacuum", "recover"],
)
def test_requests_are_bounded(
    make: Callable[..., object], work: Work, most: int, storage: object, kernel: Kernel, name: TableName
) -> None:
    """The files of the rows are among them."""
    if not isinstance(storage, S3):
        pytest.skip("runs with --files s3")
    make(kernel, name, {f"p={number}": ["old"] for number in range(20)})
    work(kernel, name)
    before = len(storage.requests())
    work(kernel, name)
    sent = storage.requests()[before:]
    kinds = Counter("LIST" if "list-type" in one else one.split()[0] for one in sent)
    print(f"{len(sent)} requests: {dict(kinds)}")
    assert len(sent) <= most, "\n".join(sent)
