"""Tables of 2,000 columns: each capability, with good rows and bad ones, in a Java of its default stack."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from dbt.tests.util import run_dbt
from dbt_common.exceptions import DbtRuntimeError

from functional.ingest.conftest import Ingester
from functional.merge.conftest import Merger
from functional.snapshots.conftest import Snapshots

pytestmark = pytest.mark.slow

WIDTH = 2000
# Types of the columns in turn, and the value of each for a number.
KINDS = {
    "int": lambda number: number,
    "string": lambda number: f"value {number}",
    "double": lambda number: number + 0.5,
    "boolean": lambda number: number % 2 == 0,
}
COLUMNS = {f"c{number}": list(KINDS)[number % len(KINDS)] for number in range(WIDTH - 1)}
LAST = f"c{WIDTH - 2}"
DDL = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())


def row(number: int, **other: Any) -> dict[str, Any]:
    """The values of all columns but the key, for a number."""
    return {**{name: KINDS[kind](number) for name, kind in COLUMNS.items()}, **other}


def change(key: int, number: int, seq: int, **other: Any) -> dict[str, Any]:
    """A change of a feed."""
    return {"id": key, "seq": seq, "op": "U", **row(number, **other)}


@pytest.fixture(scope="class")
def models() -> dict[str, str]:
    return {"nothing.sql": "select 1 as id"}


class TestIngest:
    @staticmethod
    def record(format_: str, values: list[Any]) -> str:
        texts = [str(value).lower() if isinstance(value, bool) else str(value) for value in values]
        if format_ == "json":
            return json.dumps(dict(zip(["id", *COLUMNS], values, strict=False)))
        return ("|" if format_ == "regex" else ",").join(texts)

    @pytest.mark.parametrize("format_", ["delimited", "json", "regex"])
    def test_good_records_are_rows_and_bad_ones_quarantined(
        self, project: Any, tmp_path: Path, format_: str
    ) -> None:
        run_dbt(["run"])
        config = {"format": format_}
        if format_ == "regex":
            config["pattern"] = "[|]".join(["([^|]*)"] * WIDTH)
        ingester = Ingester(project, tmp_path, config, {"id": "int", **COLUMNS})
        good = [[key, *row(key).values()] for key in (1, 2)]
        broken = [3, *row(3, c1996="x").values()]
        short = [4, *row(4).values()][:-1]
        ingester.land("a", "".join(self.record(format_, values) + "\n" for values in [*good, broken, short]))
        assert ingester.run().inserted == 2
        assert ingester.rows() == [tuple(values) for values in good]
        found = {
            "delimited": [("malformed_value", "c1996"), ("missing_field", None)],
            "json": [("wrong_type", "c1996"), ("missing_field", None)],
            "regex": [("malformed_value", "c1996"), ("no_match", None)],
        }
        assert ingester.reasons() == found[format_]
        if format_ == "delimited":
            ingester.model["config"]["missing_fields"] = "null"
            assert ingester.replay().inserted == 1
            assert ingester.rows("id, " + LAST) == [(1, row(1)[LAST]), (2, row(2)[LAST]), (4, None)]
            assert ingester.reasons() == [("malformed_value", "c1996")]


FEED = f"id int, seq int, op string, {DDL}"
ORDERED = {
    "unique_key": "id",
    "sequence_by": "seq",
    "apply_as_deletes": "op = 'D'",
    "except_column_list": ["op", "seq"],
}


class TestMerge:
    def merger(self, project: Any, **config: Any) -> Merger:
        run_dbt(["run"])
        return Merger(project, config, FEED)

    def test_whole_rows(self, project: Any) -> None:
        merger = self.merger(project, **ORDERED)
        merger.merge([change(key, 1, 1) for key in (1, 2, 3)])
        deleted = {**change(2, 1, 2), "op": "D"}
        merger.merge([change(1, 2, 2), deleted, change(4, 4, 2), change(3, 9, 0)])
        expected = [{"id": key, **row(number)} for key, number in ((1, 2), (3, 1), (4, 4))]
        assert merger.rows() == expected

    def test_nulls_of_partial_updates_keep_values(self, project: Any) -> None:
        merger = self.merger(project, **ORDERED, ignore_null_updates=True)
        merger.merge([change(1, 1, 1)])
        merger.merge(
            [change(1, 2, 2, **dict.fromkeys(COLUMNS)), change(1, 3, 3, **dict.fromkeys([LAST, "c7"]))]
        )
        assert merger.rows() == [{"id": 1, **row(3, c7=row(1)["c7"], **{LAST: row(1)[LAST]})}]

    def test_all_columns_are_compared_where_there_is_no_order(self, project: Any) -> None:
        merger = self.merger(project, unique_key="id", incremental_predicates=["DBT_INTERNAL_DEST.c0 < 1000"])
        merger.merge([change(1, 1, 1), change(2, 2, 1)])
        response = merger.merge([change(1, 1, 1), change(2, 2, 1, **{LAST: row(7)[LAST]})])
        assert (response.updated, response.ignored) == (1, 1)

    def test_repeated_changes_are_checked(self, project: Any) -> None:
        merger = self.merger(project, **{**ORDERED, "except_column_list": ["op"]})
        merger.merge([change(1, 1, 1)])
        assert merger.merge([change(1, 1, 1)]).ignored == 1
        with pytest.raises(DbtRuntimeError, match="AmbiguousChange"):
            merger.merge([change(1, 1, 1, **{LAST: row(7)[LAST]})])

    def test_a_column_is_added(self, project: Any) -> None:
        merger = self.merger(project, **ORDERED, on_schema_change="append_new_columns")
        merger.merge([change(1, 1, 1)])
        merger.feed += ", added int"
        merger.merge([change(2, 2, 2, added=5)])
        assert merger.sql("select id, added from {table} order by id") == [(1, None), (2, 5)]

    def test_a_history_is_kept(self, project: Any) -> None:
        merger = self.merger(project, **ORDERED, stored_as_scd_type=2)
        merger.merge([change(1, 1, 1), change(2, 1, 1)])
        merger.merge([change(1, 1, 2, **{LAST: row(7)[LAST]}), change(2, 1, 2)])
        found = merger.sql(f"select id, {LAST}, __start_at, __end_at from {{table}} order by 1, 3")
        old, new = row(1)[LAST], row(7)[LAST]
        assert found == [(1, old, 1, 2), (1, new, 2, None), (2, old, 1, None)]


class TestSnapshot:
    @pytest.fixture(scope="class")
    def snapshots(self) -> dict[str, str]:
        return {"history.sql": ""}

    @pytest.mark.parametrize("strategy", ["check", "timestamp"])
    def test_a_change_in_the_last_column_is_a_version(self, project: Any, strategy: str) -> None:
        snapshot = Snapshots(project)
        with project.adapter.connection_named("snapshots"):
            relation = project.adapter.Relation.create(
                schema=project.test_schema, identifier="history", type="table"
            )
            project.adapter.drop_relation(relation)
        by_time = {"updated_at": "changed_at"} if strategy == "timestamp" else {"check_cols": "all"}
        snapshot.configure(unique_key="id", strategy=strategy, hard_deletes="new_record", **by_time)
        for number, last in ((1, 1), (2, 7)):
            rows = [self.values(1, 1, last, number), self.values(2, 1, 1, 1)][: 3 - number]
            snapshot.source(f"id int, changed_at timestamp, {DDL}", rows)
            snapshot.run()
        found = snapshot.rows(f"id, {LAST}, dbt_valid_to is null, dbt_is_deleted", "id, dbt_valid_from")
        old, new = row(1)[LAST], row(7)[LAST]
        assert found == [
            (1, old, False, "False"),
            (1, new, True, "False"),
            (2, old, False, "False"),
            (2, old, True, "True"),
        ]

    @staticmethod
    def values(key: int, number: int, last: int, changed: int) -> str:
        values = row(number, **{LAST: row(last)[LAST]}).values()
        return f"{key}, timestamp_seconds({changed}), " + ", ".join(
            repr(value) if isinstance(value, str) else str(value).lower() for value in values
        )
