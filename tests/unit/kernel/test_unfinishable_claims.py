"""Commits that the metastore would refuse, or would not answer, after their claim."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from kernel.support import (
    COLUMNS,
    KEYS,
    Rows,
    add_overlay,
    append,
    assert_nothing_orphaned,
    assert_whole,
    create,
    create_appendable,
    ingest,
    merge,
    rows_of,
    stage,
)
from lakemerge.errors import UnsupportedTable
from lakemerge.kernel import HiveColumn, HiveTable, Kernel, TableDefinition, TableName, Transaction
from lakemerge.kernel.ports.metastore import HivePartition, Refused, ReplyLost
from lakemerge.kernel.protocol import swaps
from lakemerge.testing import MemoryMetastore, World

NAME = TableName("s", "t")
OLD: Rows = {"p=1": ["old"], "p=2": ["old"], "p=3": ["old"]}
NEW: Rows = {"p=1": ["new"], "p=2": ["new"], "p=4": ["new"]}


class Cut:
    """A metastore behind a proxy that cuts off every answer to some calls, after they were carried out."""

    def __init__(self, inner: Any, *calls: str) -> None:
        self._inner = inner
        self._calls = calls
        self.sent: Counter[str] = Counter()

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._inner, name)
        if name not in self._calls:
            return method

        def call(*args: Any, **kwargs: Any) -> Any:
            self.sent[name] += 1
            method(*args, **kwargs)
            raise ReplyLost(expected="an answer", found="none", action="None.")

        return call


def behind_a_proxy(world: World, *calls: str) -> tuple[Kernel, Cut]:
    ports = world.process()
    metastore: Any = Cut(ports.metastore, *calls)
    metastore._inner.compares = True
    return Kernel(dataclasses.replace(ports, metastore=metastore)), metastore


def test_a_swap_whose_answer_is_always_cut_off_is_sent_once(world: World, kernel: Kernel) -> None:
    create(kernel, NAME, OLD)
    writer, metastore = behind_a_proxy(world, "alter_partitions", "add_partitions")
    merge(writer, NAME, NEW)
    assert metastore.sent == {"alter_partitions": 1, "add_partitions": 1}
    assert rows_of(kernel, NAME) == OLD | NEW
    assert_whole(kernel, NAME)


def test_an_append_whose_answer_is_always_cut_off_is_sent_once(world: World, kernel: Kernel) -> None:
    create_appendable(kernel, NAME, {"p=1": ["old"]})
    writer, metastore = behind_a_proxy(world, "alter_partitions", "add_partitions")
    append(writer, NAME, {"p=1": ["new"]})
    assert metastore.sent == {"add_partitions": 1}
    assert rows_of(kernel, NAME) == {"p=1/_commit=1": ["old"], "p=1/_commit=2": ["new"]}
    assert_nothing_orphaned(kernel, NAME)


def test_a_row_that_is_made_anew_behind_a_proxy_has_its_partitions_sent_once(
    world: World, kernel: Kernel
) -> None:
    create(kernel, NAME, OLD)
    writer, metastore = behind_a_proxy(world, "add_partitions")
    txn = writer.begin(NAME, "replace")
    txn.replace_all()
    txn.set_schema((HiveColumn("line", "int"),), KEYS)
    writer.files.write_text(f"{txn.stage_directory}/p=1/part-0.orc", "new")
    txn.add_staged()
    txn.commit()
    assert metastore.sent == {"add_partitions": 1}
    assert rows_of(kernel, NAME) == {"p=1": ["new"]}


def test_what_does_not_fit_into_one_message_is_sent_in_several(
    world: World, kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(swaps, "_MOST_BYTES", 3_000)
    many = {f"p={number:02}": ["row"] for number in range(20)}
    sizes: list[int] = []
    for call in ("add_partitions", "alter_partitions"):
        method = getattr(world.metastore, call)

        def sized(name: TableName, rows: Any, method: Any = method) -> Any:
            sizes.append(sum(map(swaps._size_of, rows)))
            return method(name, rows)

        monkeypatch.setattr(world.metastore, call, sized)
    create(kernel, NAME, many)
    txn = kernel.begin(NAME, "alter")
    txn.read()
    txn.set_schema((HiveColumn("line", "string"), HiveColumn("more", "string", "x" * 200)))
    txn.commit()
    merge(kernel, NAME, {part: ["new"] for part in many})
    assert rows_of(kernel, NAME) == {part: ["new"] for part in many}
    assert_whole(kernel, NAME)
    assert len(sizes) > 6
    assert max(sizes) <= 3_000


def test_a_value_that_some_metastores_cannot_hold_is_refused_before_the_claim(kernel: Kernel) -> None:
    create(kernel, NAME, OLD)
    merge(kernel, NAME, {f"p={'é' * 256}": ["row"]})
    with pytest.raises(UnsupportedTable, match="257"):
        merge(kernel, NAME, {f"p={'x' * 257}": ["row"]})
    assert merge(kernel, NAME, NEW) == 3


class Latin(MemoryMetastore):
    """A metastore whose database cannot hold some characters in rows of tables."""

    def create_table(self, table: HiveTable) -> None:
        self._look("createTable", table)
        super().create_table(table)

    def alter_table(self, name: TableName, table: HiveTable, **expected: Any) -> None:
        self._look("alter_table", table)
        super().alter_table(name, table, **expected)

    def add_partitions(self, name: TableName, partitions: Sequence[HivePartition]) -> int:
        if not all(_is_latin(value) for row in partitions for value in row.values):
            raise Refused("add_partitions", "MetaException", "Incorrect string value")
        return super().add_partitions(name, partitions)

    def _look(self, call: str, table: HiveTable) -> None:
        texts = [*table.parameters.values(), *(column.name for column in table.columns)]
        if not all(map(_is_latin, texts)):
            raise Refused(call, "MetaException", "Incorrect string value")


def _is_latin(text: str) -> bool:
    return text.encode("latin-1", "ignore").decode("latin-1") == text


@pytest.fixture
def latin() -> World:
    world = World()
    world.metastore = Latin(world.timeline)
    return world


def set_comment(txn: Transaction) -> None:
    txn.set_parameters({"comment": "заказы"})


def set_column(txn: Transaction) -> None:
    txn.set_schema((HiveColumn("line", "string"), HiveColumn("цена", "string")))


@pytest.mark.parametrize("change", [set_comment, set_column])
@pytest.mark.parametrize("which", [0, 1])
def test_a_group_whose_change_of_a_row_is_refused_claims_nothing(
    which: int, change: Callable[[Transaction], None], latin: World
) -> None:
    kernel = Kernel(latin.process())
    names = (TableName("s", "a"), TableName("s", "b"))
    for name in names:
        create(kernel, name, OLD)
    txns = [kernel.begin(name, "merge") for name in names]
    change(txns[which])
    for txn in txns:
        stage(kernel, txn, NEW)
    with pytest.raises(UnsupportedTable, match="Incorrect string"), txns[0], txns[1]:
        kernel.commit_together(txns)
    for name in names:
        assert merge(kernel, name, NEW) == 2
        assert_nothing_orphaned(kernel, name)


def test_a_partition_that_is_refused_is_not_claimed(latin: World) -> None:
    kernel = Kernel(latin.process())
    create(kernel, NAME, OLD)
    with pytest.raises(UnsupportedTable, match="Incorrect string"):
        merge(kernel, NAME, {"p=заказ": ["new"]})
    with pytest.raises(UnsupportedTable, match="Incorrect string"):
        create(kernel, TableName("s", "z"), {"p=заказ": ["new"]})
    assert merge(kernel, NAME, {"p=é": ["new"]}) == 2
    assert [one.name for one in kernel.metastore.table_summaries("s")] == ["t"]


def test_a_group_whose_new_table_is_refused_claims_nothing_for_good(latin: World) -> None:
    kernel = Kernel(latin.process())
    create(kernel, NAME, OLD)
    other = TableName("s", "z")
    txns = [kernel.begin(NAME, "merge"), kernel.create(TableDefinition(other, COLUMNS, KEYS))]
    set_comment(txns[1])
    for txn in txns:
        stage(kernel, txn, NEW)
    with pytest.raises(Refused), txns[0], txns[1]:
        kernel.commit_together(txns)
    assert merge(kernel, NAME, NEW) == 2
    create(kernel, other, NEW)


def test_a_row_made_anew_that_is_refused_is_not_claimed(latin: World) -> None:
    kernel = Kernel(latin.process())
    create(kernel, NAME, OLD)
    txn = kernel.begin(NAME, "replace")
    txn.replace_all()
    txn.set_schema((HiveColumn("цена", "int"),), KEYS)
    stage(kernel, txn, NEW)
    with pytest.raises(UnsupportedTable, match="Incorrect string"), txn:
        txn.commit()
    assert merge(kernel, NAME, NEW) == 2
    assert kernel.metastore.table_summaries("s")[0].name == "t"
    assert len(kernel.metastore.table_summaries("s")) == 1


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("quarantine", lambda kernel, name: ingest(kernel, name, {"p=1": ["new"]}, "text")),
        ("deltas", add_overlay),
    ],
)
def test_the_name_of_a_side_table_that_is_refused_is_not_claimed(
    kind: str, change: Callable[[Kernel, TableName], object], world: World
) -> None:
    world.metastore.longest_name = 128
    kernel, name = Kernel(world.process()), TableName("s", "t" * (128 - len(f"__{kind}") + 1))
    create_appendable(kernel, name, {"p=1": ["old"]})
    with pytest.raises(UnsupportedTable, match="129 characters"):
        change(kernel, name)
    append(kernel, name, {"p=1": ["new"]})
    assert [one.name for one in kernel.metastore.table_summaries("s")] == [name.name]


class Strict(MemoryMetastore):
    """A metastore whose settings allow only some values of partition columns."""

    def require_values(self, values: Sequence[str]) -> None:
        if odd := [value for value in values if not value.islower()]:
            raise Refused("add_partitions", "MetaException", f"{odd[0]!r} is not allowed")

    def add_partitions(self, name: TableName, partitions: Sequence[HivePartition]) -> int:
        self.require_values([value for row in partitions for value in row.values])
        return super().add_partitions(name, partitions)


def test_a_value_that_the_settings_of_the_metastore_forbid_is_not_claimed() -> None:
    world = World()
    world.metastore = Strict(world.timeline)
    kernel = Kernel(world.process())
    create(kernel, NAME, {"p=one": ["old"]})
    with pytest.raises(UnsupportedTable, match="'TWO' is not allowed"):
        merge(kernel, NAME, {"p=one": ["new"], "p=TWO": ["new"]})
    with pytest.raises(UnsupportedTable, match="'TWO' is not allowed"):
        create(kernel, TableName("s", "z"), {"p=TWO": ["new"]})
    assert merge(kernel, NAME, {"p=three": ["new"]}) == 2
    assert rows_of(kernel, NAME) == {"p=one": ["old"], "p=three": ["new"]}
