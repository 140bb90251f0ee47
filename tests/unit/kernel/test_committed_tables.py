"""Which tables maintenance finds in a schema."""

from __future__ import annotations

from typing import Any

import pytest

from kernel.meanwhile import die_at
from kernel.support import COLUMNS, OTHER_KEYS, add_overlay, create, make_plain, stage
from lakemerge.kernel import VERSION, Kernel, TableName, committed_tables, with_parameters
from lakemerge.testing import World

EVERYTHING = TableName("s", "*")
ROWS = {"p=1": ["old"]}


def test_tables_are_asked_for_together(world: World, kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "b", "read"):
        create(kernel, TableName("s", name), ROWS)
    add_overlay(kernel, TableName("s", "read"))
    make_plain(kernel, TableName("s", "plain"), ROWS)
    calls: list[str] = []
    for call in ("get_table", "tables"):
        method = getattr(world.metastore, call)

        def counted(*args: Any, call: str = call, method: Any = method) -> Any:
            calls.append(call)
            return method(*args)

        monkeypatch.setattr(world.metastore, call, counted)
    assert [one.name for one in committed_tables(kernel.metastore, EVERYTHING)] == ["a", "b", "read"]
    assert calls == ["tables"]


@pytest.mark.parametrize("step", ["row prepared", "row moved"])
def test_a_row_that_is_made_anew_is_no_table_of_its_own(step: str, world: World, kernel: Kernel) -> None:
    name = TableName("s", "t")
    create(kernel, name, ROWS)

    def replace(dying: Kernel) -> None:
        transaction = dying.begin(name, "replace")
        transaction.replace_all()
        transaction.set_schema(COLUMNS, OTHER_KEYS)
        stage(dying, transaction, {"q=1/r=a": ["new"]})
        transaction.commit()

    die_at(world, step, replace)
    assert len(kernel.metastore.table_summaries("s")) == 2
    assert {one.name for one in committed_tables(kernel.metastore, EVERYTHING)} <= {"t"}


def test_a_table_that_is_damaged_hides_no_other(kernel: Kernel) -> None:
    for name in ("a", "b"):
        create(kernel, TableName("s", name), ROWS)
    row = kernel.table(TableName("s", "a"))
    kernel.metastore.alter_table(row.name, with_parameters(row, {VERSION: "x"}))
    assert [one.name for one in committed_tables(kernel.metastore, EVERYTHING)] == ["a", "b"]
