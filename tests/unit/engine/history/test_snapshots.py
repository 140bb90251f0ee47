"""The facts that a snapshot's SQL is made from."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from lakemerge.engine.history.layout import HistoryLayout
from lakemerge.engine.history.snapshots import SnapshotPlan
from lakemerge.engine.relations.table_schema import ColumnPlan, SchemaPlan
from lakemerge.errors import IncompatibleColumn, InvalidConfig

NAMES = {name: name.upper() for name in ("dbt_scd_id", "dbt_updated_at", "dbt_valid_from", "dbt_valid_to")}
NAMES["dbt_is_deleted"] = "gone"
STRATEGY = {"unique_key": "id", "hard_deletes": "ignore"}


class Transaction:
    """What a plan asks of a transaction."""

    table = "`s`.`history`"
    reads_all = True

    def __init__(self, kind: str = "timestamp", exists: bool = True, **properties: Any) -> None:
        names = ("id", *(name.lower() for name in NAMES.values()))
        self.plan = SchemaPlan(tuple(ColumnPlan(name, kind, True, True) for name in names))
        self.exists = exists
        base = SimpleNamespace(
            properties=properties, partition_columns=HistoryLayout().columns, version=1, partitions={}
        )
        self.base = base if exists else None


def plan(transaction: Transaction, valid_to_current: str | None = None, **strategy: Any) -> SnapshotPlan:
    reported = {**STRATEGY, "column_names": NAMES, "valid_to_current": valid_to_current, **strategy}
    layout = HistoryLayout()
    return SnapshotPlan.make(transaction, reported, "current_timestamp()", layout)  # type: ignore[arg-type]


def test_current_rows_are_those_of_every_configuration_so_far() -> None:
    assert plan(Transaction()).is_current == "(`dbt_valid_to` is null)"
    first = plan(Transaction(), "date('9999-12-31')")
    one = "cast(date('9999-12-31') as timestamp)"
    assert first.is_current == f"(`dbt_valid_to` is null or `dbt_valid_to` = {one})"
    later = plan(Transaction(**first.properties(3, 0)), "date('2999-01-01')")
    two = "cast(date('2999-01-01') as timestamp)"
    assert later.current_values == (two, one)
    assert later.valid_to_current == two
    assert plan(Transaction(**later.properties(3, 0))).current_values == (two, one)
    assert plan(Transaction(**later.properties(3, 0))).valid_to_current == "null"


def test_a_version_says_whether_keys_may_have_closed_rows_alone() -> None:
    first = plan(Transaction(exists=False))
    assert not first.may_have_ended
    assert not first.is_adopted
    kept = plan(Transaction(**first.properties(3, 0)))
    assert not kept.may_have_ended
    assert plan(Transaction(**kept.properties(3, 2))).may_have_ended
    ended = plan(Transaction(**kept.properties(3, 2)))
    assert plan(Transaction(**ended.properties(3, 0))).may_have_ended, "once is for ever"
    adopted = plan(Transaction())
    assert adopted.is_adopted
    assert adopted.may_have_ended


@pytest.mark.parametrize(
    ("unique_key", "keys"),
    [("id", ("dbt_unique_key",)), (["id", "day"], ("dbt_unique_key_1", "dbt_unique_key_2"))],
)
def test_keys_have_the_names_that_dbt_gives_them(unique_key: Any, keys: tuple[str, ...]) -> None:
    assert plan(Transaction(), unique_key=unique_key).keys == keys


@pytest.mark.parametrize(
    ("reported", "expected"),
    [
        ({"hard_deletes": "new_record"}, "new_record"),
        ({"hard_deletes": None, "invalidate_hard_deletes": True}, "invalidate"),
        ({"hard_deletes": None, "invalidate_hard_deletes": False}, "ignore"),
        ({"hard_deletes": None}, "ignore"),
    ],
)
def test_older_strategies_say_by_a_flag_what_becomes_of_deletes(
    reported: dict[str, Any], expected: str
) -> None:
    assert plan(Transaction(), **reported).hard_deletes == expected


def test_what_a_strategy_says_of_deletes_is_checked() -> None:
    with pytest.raises(InvalidConfig, match="found 'forget'"):
        plan(Transaction(), hard_deletes="forget")


@pytest.mark.parametrize("kind", ["timestamp", "date", "string", "varchar(30)"])
def test_deletions_end_with_the_run_in_the_type_of_the_times(kind: str) -> None:
    assert (
        plan(Transaction(kind), hard_deletes="invalidate").run_time == f"cast(current_timestamp() as {kind})"
    )


def test_deletions_need_a_time() -> None:
    assert plan(Transaction("int")).run_time == "cast(null as int)"
    with pytest.raises(IncompatibleColumn, match="the type int"):
        plan(Transaction("int"), hard_deletes="new_record")
