"""Single cases of the history, and what its options refuse."""

from __future__ import annotations

from typing import Any

import pytest
from dbt_common.exceptions import CompilationError, DbtRuntimeError

from lakemerge.engine.history import layout as history_layout

SCHEMA = "id bigint, name string, note string, ts bigint, op string"
FEED = {
    "unique_key": "id",
    "sequence_by": "ts",
    "apply_as_deletes": "op = 'D'",
    "except_column_list": ["op", "ts"],
    "track_history_except_column_list": ["note"],
}


def change(key: int, name: str | None, ts: int, note: str | None = None, op: str = "U") -> dict[str, Any]:
    return {"id": key, "name": name, "note": note, "ts": ts, "op": op}


def versions(
    table: Any,
    columns: str = "name, note, __start_at, __end_at",
    where: str = "true",
    order: str = "__start_at",
) -> list[tuple[Any, ...]]:
    """The table's rows in the order of their beginnings."""
    sql = f"select {columns} from {table.relation.render()} where {where} order by id, {order}"
    return [tuple(row) for row in table.sql(sql)]


def files(table: Any) -> dict[int, str]:
    """The directory of each partition, by its name."""
    found = table.sql(f"select distinct dbt_closed_in, input_file_name() from {table.relation.render()}")
    return {row[0]: row[1] for row in found}


class TestVersions:
    @pytest.mark.slow
    def test_a_life(self, merger: Any) -> None:
        table = merger(FEED, SCHEMA)
        first = table.merge([change(1, "ann", 10), change(1, "bea", 20), change(2, "eve", 10)])
        assert (first.inserted, first.updated) == (3, 0)
        second = table.merge([change(1, "bea", 25, note="married"), change(1, "cleo", 30)])
        assert (second.inserted, second.updated) == (1, 1)
        assert versions(table, where="id = 1") == [
            ("ann", None, 10, 20),
            ("bea", "married", 20, 30),
            ("cleo", None, 30, None),
        ]
        # late: in the midst of an interval that came in one piece from two changes
        table.merge([change(1, "zoe", 22)])
        assert versions(table, where="id = 1") == [
            ("ann", None, 10, 20),
            ("bea", None, 20, 22),
            ("zoe", None, 22, 25),
            ("bea", "married", 25, 30),
            ("cleo", None, 30, None),
        ]
        # a late delete splits an interval; a later change puts the key back
        table.merge([change(1, None, 27, op="D"), change(1, "cleo", 40, op="D"), change(1, "dora", 50)])
        assert versions(table, where="id = 1")[3:] == [
            ("bea", "married", 25, 27),
            ("cleo", None, 30, 40),
            ("dora", None, 50, None),
        ]
        assert table.merge([change(1, "ann", 10), change(1, "dora", 50)]).version == 0

    def test_closing_leaves_closed_files_alone(self, merger: Any) -> None:
        table = merger(FEED, SCHEMA)
        table.merge([change(key, "a", 1) for key in range(5)])
        table.merge([change(key, "b", 2) for key in range(3)])
        before = files(table)
        assert set(before) == {0, 2}
        table.merge([change(key, "c", 3) for key in range(3)])
        after = files(table)
        assert set(after) == {0, 2, 3}
        assert after[2] == before[2], "rows closed before are not written again"
        assert after[0] != before[0]

    @pytest.mark.slow
    def test_many_closed_partitions_become_few(self, merger: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(history_layout, "_MOST_CLOSED", 2)
        table = merger(FEED, SCHEMA)
        for ts in range(1, 7):
            table.merge([change(1, f"n{ts}", ts)])
            assert len(files(table)) <= 4
        assert versions(table, "__start_at, __end_at") == [
            (ts, ts + 1 if ts < 6 else None) for ts in range(1, 7)
        ]
        assert table.merge([change(1, "n2", 2)]).version == 0, "a version is found wherever it lies now"

    @pytest.mark.parametrize(
        "order",
        [[0, 1, 2, 3], [3, 2, 1, 0], [1, 2, 0, 3]],
        ids=str,
    )
    @pytest.mark.slow
    def test_a_truncate_voids_what_has_its_sequence(self, merger: Any, order: list[int]) -> None:
        feed = [change(1, "a", 3), change(1, "a", 5, note="x"), change(0, None, 5, op="T"), change(1, "b", 7)]
        feed[2]["id"] = None
        table = merger({**FEED, "apply_as_truncates": "op = 'T'"}, SCHEMA)
        for number in order:
            table.merge([feed[number]])
        assert versions(table) == [("a", None, 3, 5), ("b", None, 7, None)]
        assert table.merge(feed).version == 0

    @pytest.mark.slow
    def test_a_tie_with_what_is_known(self, merger: Any) -> None:
        for policy, expected in (("error", "AmbiguousChange"), ("any", None)):
            table = merger({**FEED, "on_sequence_tie": policy}, SCHEMA)
            table.merge([change(1, "a", 5), change(1, "b", 6)])
            if expected:
                with pytest.raises(DbtRuntimeError, match=expected):
                    table.merge([change(1, "other", 5)])
            else:
                assert table.merge([change(1, "other", 5)]).version == 0
            assert versions(table, "name") == [("a",), ("b",)]

    @pytest.mark.slow
    def test_a_new_column_in_feed_table_and_ledger(self, merger: Any) -> None:
        table = merger({**FEED, "on_schema_change": "append_new_columns"}, SCHEMA)
        table.merge([change(1, "a", 1), change(1, "a", 5, note="x")])
        table.feed = SCHEMA.replace("op string", "op string, city string")
        table.merge([{**change(1, "a", 7), "city": None}, {**change(1, "b", 3), "city": "Bonn"}])
        assert versions(table, "name, note, city, __start_at, __end_at") == [
            ("a", None, None, 1, 3),
            ("b", None, "Bonn", 3, 5),
            ("a", None, None, 5, None),
        ]

    @pytest.mark.slow
    def test_several_keys_and_sequences_and_dbts_names(self, merger: Any) -> None:
        table = merger(
            {
                **FEED,
                "unique_key": ["id", "name"],
                "sequence_by": ["ts", "op"],
                "history_column_names": "dbt",
                "history_layout": "plain",
                "track_history_column_list": ["note"],
                "track_history_except_column_list": None,
            },
            SCHEMA,
        )
        table.merge([change(1, "a", 1, "x"), change(1, "b", 1, "x"), change(1, "a", 2, "y")])
        sql = f"select name, note, dbt_valid_from.part_1, dbt_valid_to.part_1 from {table.relation.render()}"
        assert [tuple(row) for row in table.sql(f"{sql} order by name, 3")] == [
            ("a", "x", 1, 2),
            ("a", "y", 2, None),
            ("b", "x", 1, None),
        ]


@pytest.mark.slow
class TestBitemporal:
    def test_what_was_believed_is_kept(self, merger: Any) -> None:
        table = merger({**FEED, "bitemporal": True}, SCHEMA)
        table.merge([change(1, "a", 10)])
        table.merge([change(1, "c", 30)])
        table.merge([change(1, "b", 20)])
        known = "name, __start_at, __end_at, __known_from, __known_to"
        assert versions(table, known, "__known_to is null") == [
            ("a", 10, 20, 3, None),
            ("b", 20, 30, 3, None),
            ("c", 30, None, 2, None),
        ]
        assert sorted(versions(table, known, "__known_to is not null"), key=lambda row: row[3]) == [
            ("a", 10, None, 1, 2),
            ("a", 10, 30, 2, 3),
        ]

        def believed(known_in: int, at: int) -> list[str]:
            adapter = table.adapter
            with adapter.connection_named("reader"):
                sql = adapter.execute_macro(
                    "scd2_believed", kwargs={"relation": table.relation, "known_in": known_in, "at": at}
                )
                return [row["name"] for row in adapter.handle.spark.sql(sql).collect()]

        assert [believed(known_in, 25) for known_in in (0, 1, 2, 3)] == [[], ["a"], ["a"], ["b"]]
        assert believed(1, 35) == ["a"]
        assert believed(2, 35) == ["c"]
        table.merge([change(1, "new", 40)], rebuild=True)
        assert versions(table, known) == [("new", 40, None, 4, None)], (
            "a new table does not speak of versions before"
        )


class TestRefusals:
    @pytest.mark.parametrize(
        ("options", "named"),
        [
            ({"sequence_by": None}, "stored_as_scd_type 2 needs sequence_by"),
            ({"ignore_null_updates": True}, "ignore_null_updates has no meaning with stored_as_scd_type 2"),
            ({"sync": "full"}, "use a snapshot"),
            ({"track_history_column_list": ["name"]}, "exclude each other"),
            ({"history_column_names": {"since": "x"}}, "history_column_names takes names for start_at"),
            ({"history_column_names": {"start_at": "a", "end_at": "A"}}, "must differ"),
            ({"stored_as_scd_type": 3}, "stored_as_scd_type must be one of 1, 2"),
            ({"stored_as_scd_type": 1}, "track_history_except_column_list only have a meaning"),
        ],
    )
    def test_options_that_go_wrong(self, merger: Any, options: dict[str, Any], named: str) -> None:
        table = merger({**FEED, **options}, SCHEMA)
        with pytest.raises(CompilationError, match=named):
            table.merge([change(1, "a", 1)])

    def test_columns_that_are_not_there_or_already(self, merger: Any) -> None:
        untracked = merger({**FEED, "track_history_except_column_list": ["nope"]}, SCHEMA)
        with pytest.raises(DbtRuntimeError, match=r"InvalidConfig.*nope"):
            untracked.merge([change(1, "a", 1)])
        clashing = merger({**FEED, "history_column_names": {"start_at": "note", "end_at": "till"}}, SCHEMA)
        with pytest.raises(DbtRuntimeError, match=r"InvalidConfig.*note"):
            clashing.merge([change(1, "a", 1)])

    def test_a_table_that_is_no_history(self, merger: Any) -> None:
        table = merger({**FEED, "stored_as_scd_type": 1, "track_history_except_column_list": None}, SCHEMA)
        table.merge([change(1, "a", 1)])
        table.model["config"]["stored_as_scd_type"] = 2
        with pytest.raises(DbtRuntimeError, match=r"IncompatibleColumn.*__start_at missing"):
            table.merge([change(1, "b", 2)])
        assert [row["name"] for row in table.rows()] == ["a"]


@pytest.mark.slow
class TestAdoption:
    def test_a_hand_written_history_is_kept_as_it_is(self, merger: Any) -> None:
        table = merger(
            {**FEED, "history_column_names": {"start_at": "valid_from", "end_at": "valid_to"}}, SCHEMA
        )
        name = table.relation.render()
        columns = "id bigint, name string, note string, valid_from bigint, valid_to bigint"
        table.sql(f"create table {name} ({columns}) stored as orc")
        rows = "(1, 'a', null, 1, 5), (1, 'b', 'x', 5, null), (2, 'z', null, 3, 9)"
        table.sql(f"insert into {name} values {rows}")
        table.merge([change(1, "c", 7), change(1, "a", 2, note="late"), change(2, "z", 5)])
        assert versions(table, "name, note, valid_from, valid_to", "id = 1", "valid_from") == [
            ("a", "late", 1, 5),
            ("b", "x", 5, 7),
            ("c", None, 7, None),
        ]
        assert versions(table, "name, valid_from, valid_to", "id = 2", "valid_from") == [("z", 3, 9)]
