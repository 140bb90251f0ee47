"""Drops of tables that are merged on read: base, view and deltas go together."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from kernel.meanwhile import Meanwhile
from kernel.support import Died, Rows, add_delta, add_overlay, create, files_below
from lakemerge.errors import TableNotFound
from lakemerge.kernel import Kernel, TableName
from lakemerge.kernel.maintenance.drop import drop
from lakemerge.kernel.table.overlay import base_name
from lakemerge.testing import World

NAME = TableName("s", "t")
ROWS: Rows = {"p=1": ["old"], "p=2": ["old"]}


def test_a_drop_by_the_bases_name_is_that_of_the_table(kernel: Kernel) -> None:
    create(kernel, NAME, ROWS)
    add_overlay(kernel, NAME)
    add_delta(kernel, NAME, "delta")
    drop(kernel, base_name(NAME))
    assert kernel.metastore.table_summaries(NAME.schema) == []
    assert files_below(kernel, kernel.default_root(NAME)) == set()


def test_a_drop_that_died_between_base_and_view_is_finished_by_who_recovers(
    world: World, kernel: Kernel
) -> None:
    create(kernel, NAME, ROWS)
    add_overlay(kernel, NAME)

    def die() -> None:
        raise Died

    ports = world.process()
    dying: Any = Meanwhile(ports.metastore, "drop_table", die, after=True)
    with pytest.raises(Died):
        drop(Kernel(dataclasses.replace(ports, metastore=dying)), NAME)
    with pytest.raises(TableNotFound):
        kernel.recover(NAME)
    assert kernel.metastore.table_summaries(NAME.schema) == []
    assert files_below(kernel, kernel.default_root(NAME)) == set()
