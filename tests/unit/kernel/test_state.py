"""The state that a table's parameters tell."""

from __future__ import annotations

import pytest

from lakemerge.errors import CorruptTable
from lakemerge.kernel import HiveTable, TableName
from lakemerge.kernel.ports.metastore import Storage
from lakemerge.kernel.table.state import state_of

OWN = {
    "lakemerge.version": "12",
    "lakemerge.txn": "t12",
    "lakemerge.root": "file:/wh/t",
    "lakemerge.id": "0123",
}


def table(parameters: dict[str, str]) -> HiveTable:
    return HiveTable(
        name=TableName("default", "t"),
        kind="MANAGED_TABLE",
        storage=Storage(location="file:/wh/t"),
        parameters=parameters,
    )


def test_a_table_without_parameters_was_never_adopted() -> None:
    assert state_of(table({"comment": "x"})) is None


def test_settled() -> None:
    state = state_of(table(OWN))
    assert state is not None
    assert (state.version, state.txn, state.claim, state.version_value) == (12, "t12", None, "12")


def test_claimed() -> None:
    state = state_of(table(OWN | {"lakemerge.version": "13:t13"}))
    assert state is not None
    assert (state.version, state.txn, state.claim, state.version_value) == (12, "t12", "t13", "13:t13")


@pytest.mark.parametrize("missing", ["lakemerge.txn", "lakemerge.root", "lakemerge.id"])
def test_a_missing_parameter_is_named(missing: str) -> None:
    with pytest.raises(CorruptTable, match=missing):
        state_of(table({key: value for key, value in OWN.items() if key != missing}))


@pytest.mark.parametrize("value", ["", "x", "x:t13", "1.5"])
def test_a_version_that_is_no_number(value: str) -> None:
    with pytest.raises(CorruptTable, match=r"lakemerge\.version"):
        state_of(table(OWN | {"lakemerge.version": value}))
