"""Commits that a read of the metastore sees half: the version of one moment, transaction or columns of another."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import islice

import pytest

from kernel.support import (
    COLUMNS,
    WIDER_COLUMNS,
    append,
    assert_whole,
    create,
    create_appendable,
    merge,
    picture,
    rows_of,
    settled,
    stage,
)
from lakemerge.errors import CorruptTable
from lakemerge.kernel import Jvm, Kernel, TableName, ports_of
from lakemerge.kernel.jvm import HiveMetastore
from lakemerge.kernel.ports.metastore import HiveTable
from lakemerge.kernel.table.definition import TRANSACTION, VERSION, with_parameters
from lakemerge.kernel.table.state import current_table, state_of


class TearingMetastore(HiveMetastore):
    """One of its reads of a table mixes what it was with what it is."""

    def __init__(self, jvm: Jvm, before: HiveTable, part: str, at: int) -> None:
        """
        Args:
            part: what is of the moment before: ``columns``, ``location``, or a parameter.
            at: which read it is, from 0.
        """
        super().__init__(jvm)
        self._before = before
        self._part = part
        self._reads_left = at

    def get_table(self, name: TableName) -> HiveTable | None:
        now = super().get_table(name)
        self._reads_left -= 1
        if self._reads_left != -1 or now is None:
            return now
        part = self._part
        if part == "columns":
            return replace(now, storage=replace(now.storage, columns=self._before.columns))
        if part == "location":
            return replace(now, storage=replace(now.storage, location=self._before.location))
        parameters = dict(now.parameters)
        if self._before.parameters.get(part) is None:
            del parameters[part]
        else:
            parameters[part] = self._before.parameters[part]
        return replace(now, parameters=parameters)


def tearing(jvm: Jvm, before: HiveTable, part: str, at: int) -> Kernel:
    return Kernel(ports_of(jvm, metastore=TearingMetastore(jvm, before, part, at)))


@pytest.mark.parametrize("at", range(3))
@pytest.mark.parametrize("part", [TRANSACTION, VERSION])
def test_no_commit_is_skipped(part: str, at: int, jvm: Jvm, kernel: Kernel, name: TableName) -> None:
    """An append on a half-seen commit would follow the version before it, whose rows are then lost."""
    create_appendable(kernel, name, {"p=0": ["first"]})
    before = kernel.table(name)
    assert append(kernel, name, {"p=1": ["second"]}) == 2
    assert append(tearing(jvm, before, part, at), name, {"p=2": ["third"]}) == 3
    table = picture(kernel, name)
    assert table is not None
    assert sorted(text for texts in table.rows.values() for text in texts) == ["first", "second", "third"]
    assert settled(kernel, name).version == 3
    assert_whole(kernel, name)


@pytest.mark.parametrize("at", range(3))
def test_no_change_of_columns_is_undone(at: int, jvm: Jvm, kernel: Kernel, name: TableName) -> None:
    create(kernel, name, {"p=1": ["a"], "p=2": ["b"]})
    before = kernel.table(name)
    txn = kernel.begin(name, "merge")
    txn.set_schema(WIDER_COLUMNS)
    stage(kernel, txn, {"p=1": ["wider"]})
    assert txn.commit() == 2
    assert merge(tearing(jvm, before, "columns", at), name, {"p=2": ["c"]}) == 3
    assert kernel.table(name).columns == WIDER_COLUMNS != COLUMNS
    assert rows_of(kernel, name) == {"p=1": ["wider"], "p=2": ["c"]}
    assert_whole(kernel, name)


@pytest.mark.parametrize("at", range(4))
def test_no_commit_is_taken_for_a_foreign_one(at: int, jvm: Jvm, kernel: Kernel, name: TableName) -> None:
    """The location of an unpartitioned table moves with its version; the old one would be taken in as a change."""
    create(kernel, name, {"": ["a"]})
    before = kernel.table(name)
    assert merge(kernel, name, {"": ["b"]}) == 2
    assert merge(tearing(jvm, before, "location", at), name, {"": ["c"]}) == 3
    assert rows_of(kernel, name) == {"": ["c"]}
    assert_whole(kernel, name)


def test_an_adoption_is_not_repeated(jvm: Jvm, kernel: Kernel, name: TableName) -> None:
    create(kernel, name, {"p=1": ["a"]})
    now = kernel.table(name)
    plain = {key: value for key, value in now.parameters.items() if key != VERSION}
    before = replace(now, parameters=plain)
    assert merge(tearing(jvm, before, VERSION, 0), name, {"p=1": ["b"]}) == 2


def test_what_stays_so_is_corrupt(kernel: Kernel, name: TableName) -> None:
    create(kernel, name, {"p=1": ["a"]})
    merge(kernel, name, {"p=1": ["b"]})
    kernel.metastore.alter_table(name, with_parameters(kernel.table(name), {VERSION: "7"}))
    with pytest.raises(CorruptTable, match="7"):
        kernel.begin(name, "merge")
    assert rows_of(kernel, name) == {"p=1": ["b"]}


def test_a_reader_beside_a_writer_sees_whole_commits(kernel: Kernel, name: TableName) -> None:
    """Over Derby a few of these reads are torn; none of them may be believed."""
    create_appendable(kernel, name, {"p=0": [""]})
    writing = True

    def look() -> tuple[int, int]:
        reads = torn = 0
        while writing:
            table = kernel.table(name)
            state = state_of(table)
            assert state is not None
            torn += kernel.manifest(state).version != state.version and state.claim is None
            sight = current_table(kernel.metastore, kernel.files, name)
            assert sight is not None
            assert sight.state is not None
            assert sight.manifest is not None
            assert sight.manifest.version == sight.state.version
            reads += 1
        return reads, torn

    with ThreadPoolExecutor(2) as pool:
        readers = [pool.submit(look) for _ in range(2)]
        try:
            versions = [append(kernel, name, {"p=1": [str(number)]}) for number in range(40)]
        finally:
            writing = False
        counts = [reader.result() for reader in readers]
    assert versions == list(islice(range(2, 99), 40))
    reads, torn = (sum(column) for column in zip(*counts, strict=True))
    print(f"{reads} looks beside {len(versions)} commits; of as many plain reads, {torn} were torn")
