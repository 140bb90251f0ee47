"""Tables of 2,000 columns: each capability, in a Java of the default stack and heap."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from dbt.tests.util import run_dbt

from functional.ingest.conftest import Ingester
from functional.merge.conftest import Merger
from functional.snapshots.conftest import Snapshots
from functional.wide.rows import COLUMNS, DDL, FEED, LAST, ORDERED, WIDTH, change, row

pytestmark = pytest.mark.slow


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
    def test_good_records_are_rows_and_bad_ones_quarantined_and_replayed(
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
        }[format_]
        assert ingester.reasons() == found
        if format_ != "regex":
            ingester.model["config"]["missing_fields"] = "null"
            assert ingester.replay().inserted == 1
            assert ingester.rows() == [*map(tuple, good), (*short, None)]
            assert ingester.reasons() == found[:1]


class TestMerge:
    def merger(self, project: Any, **config: Any) -> Merger:
        run_dbt(["run"])
        return Merger(project, config, FEED)

    def test_whole_rows_with_late_and_repeated_changes_and_a_new_column(self, project: Any) -> None:
        merger = self.merger(project, **ORDERED, on_schema_change="append_new_columns")
        merger.merge([change(key, 1, 1) for key in (1, 2, 3, 5)])
        merger.feed += ", added int"
        deleted = {**change(2, 1, 2), "op": "D"}
        feed = [change(1, 2, 2), deleted, change(4, 4, 2), change(3, 9, 0), change(5, 1, 1)]
        response = merger.merge([{**one, "added": 6 if one["id"] < 5 else None} for one in feed])
        assert (response.inserted, response.updated, response.deleted, response.ignored) == (1, 1, 1, 2)
        expected = ((1, 2, 2, 6), (3, 1, 1, None), (4, 4, 2, 6), (5, 1, 1, None))
        assert merger.rows() == [
            {"id": key, "seq": seq, **row(number), "added": added} for key, number, seq, added in expected
        ]

    def test_nulls_of_partial_updates_keep_values(self, project: Any) -> None:
        merger = self.merger(project, **ORDERED, ignore_null_updates=True)
        merger.merge([change(1, 1, 2), change(2, 2, 2)])
        nothing = dict.fromkeys(COLUMNS)
        late, repeated = change(1, 9, 1), change(2, 0, 2, **{**nothing, LAST: row(2)[LAST]})
        response = merger.merge(
            [late, change(1, 0, 3, **nothing), change(1, 3, 4, **dict.fromkeys([LAST, "c7"])), repeated]
        )
        assert (response.updated, response.ignored) == (1, 1)
        kept = row(1)
        updated = row(3, **{name: kept[name] for name in ("c7", LAST)})
        assert merger.rows() == [{"id": 1, "seq": 4, **updated}, {"id": 2, "seq": 2, **row(2)}]

    @pytest.mark.parametrize("chosen", ["merge_exclude_columns", "merge_update_columns"])
    def test_columns_that_updates_leave_alone_keep_values(self, project: Any, chosen: str) -> None:
        left = ["c7", LAST]
        names = left if chosen == "merge_exclude_columns" else [name for name in COLUMNS if name not in left]
        merger = self.merger(project, unique_key="id", **{chosen: names})
        merger.merge([change(1, 1, 1), change(2, 2, 1)])
        response = merger.merge([change(1, 1, 1, **{LAST: row(7)[LAST]}), change(2, 4, 1)])
        assert (response.updated, response.ignored) == (1, 1)
        updated = row(4, **{name: row(2)[name] for name in left})
        assert merger.rows() == [
            {"id": key, "seq": 1, "op": "U", **values} for key, values in ((1, row(1)), (2, updated))
        ]

    def test_a_history_is_kept(self, project: Any) -> None:
        merger = self.merger(
            project, **{**ORDERED, "except_column_list": ["op", "seq"]}, stored_as_scd_type=2
        )
        merger.merge([change(1, 1, 1), change(2, 1, 1), change(3, 1, 1)])
        changed = {LAST: row(7)[LAST]}
        deleted = {**change(3, 1, 2), "op": "D"}
        merger.merge([change(1, 1, 4, **changed), change(1, 2, 2), change(2, 1, 2), deleted])
        found = merger.sql(
            f"select id, {', '.join(COLUMNS)}, __start_at, __end_at from {{table}} order by id, __start_at"
        )
        assert [row.asDict() for row in found] == [
            {"id": key, **row_, "__start_at": start, "__end_at": end}
            for key, row_, start, end in (
                (1, row(1), 1, 2),
                (1, row(2), 2, 4),
                (1, row(1, **changed), 4, None),
                (2, row(1), 1, None),
                (3, row(1), 1, 2),
            )
        ]


class TestSnapshot:
    @pytest.fixture(scope="class")
    def snapshots(self) -> dict[str, str]:
        return {"history.sql": ""}

    def test_a_change_in_the_last_column_is_a_version(self, project: Any) -> None:
        snapshot = Snapshots(project)
        snapshot.configure(unique_key="id", strategy="check", check_cols="all", hard_deletes="new_record")
        stored, changed = row(1), row(1, **{LAST: row(7)[LAST]})
        for rows in ({1: stored, 2: stored, 3: stored}, {1: changed, 3: stored}):
            snapshot.source(f"id int, {DDL}", [self.values(key, one) for key, one in rows.items()])
            snapshot.run()
        columns = f"id, dbt_valid_to is null, dbt_is_deleted, {', '.join(COLUMNS)}"
        found = snapshot.rows(columns, "id, dbt_valid_from")
        assert found == [
            (key, is_open, is_deleted, *values.values())
            for key, is_open, is_deleted, values in (
                (1, False, "False", stored),
                (1, True, "False", changed),
                (2, False, "False", stored),
                (2, True, "True", stored),
                (3, True, "False", stored),
            )
        ]

    @staticmethod
    def values(key: int, values: dict[str, Any]) -> str:
        """A row as SQL."""
        texts = (repr(value) if isinstance(value, str) else str(value).lower() for value in values.values())
        return f"{key}, {', '.join(texts)}"
