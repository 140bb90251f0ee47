"""`dbt snapshot` with its options, on plain Hive tables."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pytest

from lakemerge.engine.history import layout as history_layout

COLUMNS = "id int, name string, changed_at timestamp"
TIMESTAMP = {"unique_key": "id", "strategy": "timestamp", "updated_at": "changed_at"}
CHECK = {"unique_key": "id", "strategy": "check", "check_cols": "all"}
YAML = """
snapshots:
  - name: history
    relation: source('raw', 'source')
    config:
      unique_key: [id]
      strategy: timestamp
      updated_at: changed_at
      schema: elsewhere
      hard_deletes: new_record
      snapshot_meta_column_names: {dbt_valid_to: Until, dbt_valid_from: since, dbt_is_deleted: gone}
sources:
  - name: raw
    schema: "{{ target.schema }}"
    tables: [{name: source}]
"""
NEWEST_STRATEGY = """
{% macro snapshot_newest_strategy(node, snapshotted_rel, current_rel, model_config, target_exists) %}
    {% do return({
        "unique_key": config.get('unique_key'),
        "updated_at": config.get('updated_at'),
        "row_changed": current_rel ~ ".name > " ~ snapshotted_rel ~ ".name and " ~ snapshotted_rel
            ~ ".dbt_unique_key = " ~ current_rel ~ ".dbt_unique_key",
        "scd_id": snapshot_hash_arguments([config.get('unique_key'), config.get('updated_at')]),
        "invalidate_hard_deletes": true,
    }) %}
{% endmacro %}
"""


def row(key: int | str, name: str, number: int) -> str:
    return f"{key}, {name!r}, timestamp'2024-01-{number:02} 00:00:00'"


class TestLayout:
    def test_closing_a_version_rewrites_nothing_of_the_past(
        self, snapshot: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        said: list[str] = []
        monkeypatch.setattr(history_layout._LOG, "info", said.append)
        snapshot.configure(**TIMESTAMP)
        for number in (1, 2, 3):
            snapshot.source(COLUMNS, [row(1, f"v{number}", number), row(2, "b", 1)])
            snapshot.run()
        assert len(said) == 1, (
            "the first run, and no other, tells of the column that dbt's own snapshots lack"
        )
        assert f"{snapshot.schema}.history gets the partition column dbt_closed_in" in said[0]
        closed = snapshot.rows("dbt_closed_in, id, name", "1, 2, 3")
        assert closed == [(0, 1, "v3"), (0, 2, "b"), (2, 1, "v1"), (3, 1, "v2")]
        files = dict(
            snapshot.sql(f"select distinct dbt_closed_in, input_file_name() from {snapshot.schema}.history")
        )
        snapshot.source(COLUMNS, [row(1, "v4", 4), row(2, "b", 1)])
        snapshot.run()
        later = dict(
            snapshot.sql(f"select distinct dbt_closed_in, input_file_name() from {snapshot.schema}.history")
        )
        assert {number for number in files if later[number] == files[number]} == {2, 3}
        assert set(later) == {0, 2, 3, 4}
        again = snapshot.run()
        assert again.adapter_response["version"] == 0, "a run without changes makes no version"

    @pytest.mark.slow
    def test_partitions_and_parquet(self, snapshot: Any) -> None:
        snapshot.configure(
            **TIMESTAMP,
            partition_by=["name"],
            history_partition="ended",
            file_format="parquet",
            hard_deletes="invalidate",
        )
        for rows in (
            [row(1, "a", 1), row(2, "b", 1), row(3, "c", 1)],
            [row(1, "z", 2), row(2, "b", 1)],
            [row(1, "z", 2), row(2, "b", 1), row(4, "d", 1)],
        ):
            snapshot.source(COLUMNS, rows)
            snapshot.run()
        partitions = {name for (name,) in snapshot.sql(f"show partitions {snapshot.schema}.history")}
        assert partitions == {
            "name=a/ended=2",
            "name=b/ended=0",
            "name=c/ended=2",
            "name=d/ended=0",
            "name=z/ended=0",
        }
        formats = {
            key: value for key, value, _ in snapshot.sql(f"describe formatted {snapshot.schema}.history")
        }
        assert "parquet" in formats["Serde Library"].lower()
        snapshot.assert_sound()

    def test_a_snapshot_of_another_adapter_is_adopted_as_it_lies(self, snapshot: Any) -> None:
        meta = "dbt_scd_id string, dbt_updated_at timestamp, dbt_valid_from timestamp, dbt_valid_to timestamp"
        table = f"{snapshot.schema}.history"
        snapshot.sql(f"create table {table} ({COLUMNS}, {meta}) stored as orc")
        first, second = "timestamp'2024-01-01 00:00:00'", "timestamp'2024-01-02 00:00:00'"
        snapshot.sql(
            f"insert into {table} values (1, 'a', {first}, 'x', {first}, {first}, {second}), "
            f"(1, 'b', {second}, 'y', {second}, {second}, null), (2, 'c', {first}, 'z', {first}, {first}, null)"
        )
        snapshot.configure(**TIMESTAMP)
        snapshot.source(COLUMNS, [row(1, "b", 2), row(2, "d", 3)])
        assert snapshot.run().adapter_response["updated"] == 1
        assert [column for column, *_ in snapshot.sql(f"show columns in {table}")][-1] == "dbt_valid_to"
        rows = snapshot.rows("id, name, dbt_valid_to is null", "id, dbt_valid_from")
        assert rows == [(1, "a", False), (1, "b", True), (2, "c", False), (2, "d", True)]
        snapshot.assert_sound()

    @pytest.mark.slow
    def test_a_table_with_another_value_for_current_rows_is_not_taken_for_closed(self, snapshot: Any) -> None:
        meta = "dbt_scd_id string, dbt_updated_at timestamp, dbt_valid_from timestamp, dbt_valid_to timestamp"
        table = f"{snapshot.schema}.history"
        first, end = "timestamp'2024-01-01 00:00:00'", "timestamp'9999-12-31 00:00:00'"
        snapshot.sql(f"create table {table} ({COLUMNS}, {meta}) stored as orc")
        snapshot.sql(f"insert into {table} values (1, 'a', {first}, 'x', {first}, {first}, {end})")
        snapshot.configure(**TIMESTAMP)
        snapshot.source(COLUMNS, [row(1, "b", 2)])
        refused = snapshot.run(expect_pass=False)
        assert "dbt_valid_to_current" in refused.message
        assert "9999-12-31" in refused.message
        snapshot.configure(**TIMESTAMP, dbt_valid_to_current="date('9999-12-31')")
        snapshot.run()
        snapshot.assert_sound(valid_to_current=end)
        # a table that holds two current rows of a key already has no right answer
        snapshot.sql(f"insert into {table} values (1, 'c', {first}, 'w', {first}, {first}, {end})")
        twice = snapshot.run(expect_pass=False)
        assert "DuplicateKey" in twice.message
        assert "one current row" in twice.message


class TestChanges:
    @pytest.mark.slow
    def test_rows_that_go_and_come_back(self, snapshot: Any) -> None:
        """Whatever the source says of the time: nothing overlaps, and no id is used twice."""
        snapshot.configure(**TIMESTAMP, hard_deletes="invalidate")
        everything = [row(1, "a", 1), row(2, "b", 1), row(3, "c", 1)]
        snapshot.source(COLUMNS, everything)
        snapshot.run()
        snapshot.source(COLUMNS, everything[:1])
        assert snapshot.run().adapter_response["deleted"] == 2
        snapshot.source(COLUMNS, [*everything[:2], "3, 'c', timestamp'2200-01-01 00:00:00'"])
        assert snapshot.run().adapter_response["inserted"] == 2
        snapshot.assert_sound()
        current = snapshot.rows(
            "id, dbt_valid_from",
            "id",
        )
        assert len(current) == 5
        started = dict(
            snapshot.sql(
                f"select id, dbt_valid_from from {snapshot.schema}.history where dbt_valid_to is null"
            )
        )
        assert started[1] == datetime.datetime(2024, 1, 1)
        assert started[2] > datetime.datetime(2025, 1, 1), (
            "its old time lies in its first version: it is back since this run"
        )
        assert started[3] == datetime.datetime(2200, 1, 1)
        snapshot.source(COLUMNS, everything[:2])
        snapshot.run()
        snapshot.assert_sound()

    def test_nulls_hide_no_change(self, snapshot: Any) -> None:
        snapshot.configure(**CHECK)
        columns = "Id int, Name string, Tags map<string, int>, Pair struct<x: int, y: int>"
        states = [
            "1, null, map('a', 1), named_struct('x', 1, 'y', null)",
            "1, '', map('a', 1), named_struct('x', 1, 'y', null)",
            "1, '', null, named_struct('x', 1, 'y', null)",
            "1, '', null, named_struct('x', 1, 'y', 2)",
            "1, '', null, null",
        ]
        for number, state in enumerate(states, 1):
            snapshot.source(columns, [state])
            for expected in (number, 0):
                assert snapshot.run().adapter_response["version"] == expected
        snapshot.assert_sound()

    @pytest.mark.slow
    def test_a_time_that_was_null_is_older_than_any(self, snapshot: Any) -> None:
        snapshot.configure(**TIMESTAMP)
        for state in ("1, 'a', null", row(1, "b", 1), "1, 'ignored', null"):
            snapshot.source(COLUMNS, [state])
            snapshot.run()
        names = snapshot.rows("name, dbt_valid_from is null, dbt_valid_to is null", "name")
        assert names == [("a", True, False), ("b", False, True)]

    @pytest.mark.slow
    def test_columns_that_are_new_wider_or_gone(self, snapshot: Any) -> None:
        snapshot.configure(**CHECK)
        snapshot.source(
            "id int, small int, text varchar(5), old string", ["1, 1, 'a', 'x'", "2, 2, 'b', 'y'"]
        )
        snapshot.run()
        snapshot.source(
            "id int, small int, text varchar(5), old string", ["1, 5, 'a', 'x'", "2, 2, 'b', 'y'"]
        )
        snapshot.run()
        snapshot.source(
            "id int, small bigint, text varchar(9), more date",
            ["1, 5000000000, 'longer', date'2024-01-01'", "2, 2, 'b', null"],
        )
        assert snapshot.run().adapter_response["updated"] == 2, (
            "with a new column to check every row is changed, as in dbt"
        )
        rows = snapshot.rows("id, small, text, old, more", "id, dbt_valid_from")
        assert rows == [
            (1, 1, "a", "x", None),
            (1, 5, "a", "x", None),
            (1, 5000000000, "longer", None, datetime.date(2024, 1, 1)),
            (2, 2, "b", "y", None),
            (2, 2, "b", None, None),
        ]
        types = {name: kind for name, kind, *_ in snapshot.sql(f"describe {snapshot.schema}.history")}
        assert (types["small"], types["text"]) == ("bigint", "varchar(9)")
        snapshot.source("id int, small string, text varchar(9), more date", ["1, 'x', 'longer', null"])
        refused = snapshot.run(expect_pass=False)
        assert "IncompatibleColumn" in refused.message
        assert "small: string into bigint" in refused.message
        snapshot.assert_sound()


@pytest.mark.slow
class TestForms:
    @pytest.fixture(scope="class")
    def macros(self) -> dict[str, str]:
        return {"newest.sql": NEWEST_STRATEGY}

    def test_a_strategy_of_the_project(self, snapshot: Any) -> None:
        snapshot.configure(unique_key="id", strategy="newest", updated_at="changed_at")
        for rows in ([row(1, "b", 1), row(2, "b", 1)], [row(1, "a", 2)], [row(1, "c", 3)]):
            snapshot.source(COLUMNS, rows)
            snapshot.run()
        rows = snapshot.rows("id, name, dbt_valid_to is null", "id, name")
        assert rows == [(1, "b", False), (1, "c", True), (2, "b", False)]
        snapshot.assert_sound()

    def test_yaml_in_another_schema_with_other_names(self, snapshot: Any) -> None:
        root = Path(snapshot.project.project_root)
        (root / "snapshots" / "history.sql").write_text("")
        (root / "snapshots" / "history.yml").write_text(YAML)
        for rows in ([row(1, "a", 1), row(2, "b", 1)], [row(1, "c", 2)], [row(1, "c", 2)]):
            snapshot.source(COLUMNS, rows)
            snapshot.run()
        found = snapshot.sql(
            f"select id, name, gone, until is null from {snapshot.schema}_elsewhere.history order by id, since"
        )
        expected = [
            (1, "a", "False", False),
            (1, "c", "False", True),
            (2, "b", "False", False),
            (2, "b", "True", True),
        ]
        assert found == expected
        (root / "snapshots" / "history.yml").unlink()
        adapter = snapshot.project.adapter
        with adapter.connection_named("snapshots"):
            adapter.drop_schema(adapter.Relation.create(schema=f"{snapshot.schema}_elsewhere"))

    def test_deletions_without_a_time_are_refused(self, snapshot: Any) -> None:
        config = {**TIMESTAMP, "updated_at": "id"}
        snapshot.configure(**config, hard_deletes="invalidate")
        snapshot.source(COLUMNS, [row(1, "a", 1)])
        assert "IncompatibleColumn" in snapshot.run(expect_pass=False).message
        snapshot.configure(**config, history_layout="columnar")
        assert "history_layout must be one of" in snapshot.run(expect_pass=False).message
