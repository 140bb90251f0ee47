"""When rows changed last: what changes none does not count."""

from __future__ import annotations

import datetime
from collections.abc import Callable

import pytest

from kernel.support import add_delta, add_overlay, create, make_one_delta, move_into_base, retire_deltas
from lakemerge.errors import UnsupportedTable
from lakemerge.kernel import HiveTable, Kernel, TableName, last_change
from lakemerge.kernel.ports import Storage
from lakemerge.testing import World

NAME = TableName("s", "t")
ROWS = {"p=1": ["old"], "p=2": ["old"]}


def make_one(kernel: Kernel) -> None:
    make_one_delta(kernel, NAME)


def move(kernel: Kernel) -> None:
    move_into_base(kernel, NAME, ROWS)


def retire(kernel: Kernel) -> None:
    make_one_delta(kernel, NAME)
    retire_deltas(kernel, NAME)


def name_it(kernel: Kernel) -> None:
    with kernel.begin(NAME, "tag") as txn:
        assert txn.base is not None
        txn.set_reference("audited", txn.base.txn)
        txn.commit()


@pytest.mark.parametrize("work", [make_one, move, retire, name_it])
def test_compactions_and_names_are_no_changes(work: Callable[[Kernel], None], world: World) -> None:
    kernel = Kernel(world.process())
    create(kernel, NAME, ROWS)
    add_overlay(kernel, NAME)
    add_delta(kernel, NAME, "1")
    add_delta(kernel, NAME, "2")
    before = last_change(kernel, NAME)
    world.timeline.pass_by(86_400)
    work(kernel)
    assert last_change(kernel, NAME) == before
    add_delta(kernel, NAME, "3")
    assert last_change(kernel, NAME) >= before + datetime.timedelta(days=1)


def test_a_view_has_no_files_whose_times_tell(kernel: Kernel) -> None:
    kernel.metastore.create_table(HiveTable(NAME, "VIRTUAL_VIEW", Storage(), view_text="select 1"))
    with pytest.raises(UnsupportedTable, match="loaded_at_field"):
        last_change(kernel, NAME)
