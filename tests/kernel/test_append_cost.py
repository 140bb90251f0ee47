"""What a small append costs: calls to the metastore and to the file system, however large the table is."""

from __future__ import annotations

from collections import Counter

import pytest

from kernel.faults import METASTORE_WRITES, HookedFileSystem, HookedMetastore
from kernel.support import append, create_appendable
from lakemerge.kernel import Jvm, Kernel, TableName, ports_of


@pytest.mark.usefixtures("compares")
def test_the_calls_of_an_append_do_not_grow_with_the_table(jvm: Jvm, name: TableName) -> None:
    metastore_calls: Counter[str] = Counter()
    storage_calls: Counter[str] = Counter()
    kernel = Kernel(
        ports_of(
            jvm,
            metastore=HookedMetastore(jvm, before=lambda call: metastore_calls.update([call])),
            files=HookedFileSystem(jvm, before=lambda call: storage_calls.update([call])),
        )
    )
    create_appendable(kernel, name, {"p=1": ["first"]})
    append(kernel, name, {"p=1": ["a"]})
    counts = []
    for _ in range(2):
        metastore_calls.clear()
        storage_calls.clear()
        append(kernel, name, {"p=1": ["b"]})
        counts.append((dict(metastore_calls), dict(storage_calls)))
        append(kernel, name, {f"p={number}": ["c"] for number in range(20)})
    assert counts[0] == counts[1]
    calls, storage = counts[0]
    print(f"metastore: {sum(calls.values())} calls {calls}; storage: {sum(storage.values())} calls {storage}")
    writes = {call: count for call, count in calls.items() if call in METASTORE_WRITES}
    assert writes == {"alter_table": 2, "add_partitions": 1}
    assert set(calls) == {*writes, "getTable"}
    assert sum(calls.values()) <= 11
    assert sum(storage.values()) <= 14
