"""A merge reads its ledger only for the key and the sequence that it was made for."""

from __future__ import annotations

from typing import Any

import pytest
from dbt_common.exceptions import DbtRuntimeError

from lakemerge.engine.merge import ledger
from lakemerge.kernel import Transaction
from lakemerge.kernel.ports.names import TableName

SCHEMA = "id bigint, sku bigint, name string, ts bigint, at timestamp, op string"
FEED = {
    "unique_key": "id",
    "sequence_by": "ts",
    "apply_as_deletes": "op = 'D'",
    "except_column_list": ["op", "at"],
}
HISTORY = {**FEED, "stored_as_scd_type": 2, "except_column_list": ["op", "at", "ts"]}


def change(
    key: int | None, name: str | None, ts: int, op: str = "U", sku: int | None = None
) -> dict[str, Any]:
    return {"id": key, "sku": sku or key, "name": name, "ts": ts, "at": None, "op": op}


def delete(key: int, ts: int) -> dict[str, Any]:
    return change(key, None, ts, "D")


def reset(table: Any, keep: bool = False) -> int:
    """What `dbt run-operation lakemerge_reset_ledger` does; returns the version."""
    with table.adapter.connection_named(table.name):
        name = f"{table.relation.schema}.{table.relation.identifier}"
        return int(
            table.adapter.execute_macro("lakemerge_reset_ledger", kwargs={"table": name, "keep": keep})
        )


def recorded(table: Any) -> Any:
    """What the newest manifest says that the ledger is for."""
    with table.adapter.connection_named(table.name):
        name = TableName(table.relation.schema, table.relation.identifier)
        return table.adapter.operations.kernel().settled(name)[1].side_data_for.get("ledger")


def names(table: Any) -> list[str]:
    return [row["name"] for row in table.sql("select name from {table} order by name")]


class TestAnotherKeyOrSequence:
    @pytest.mark.slow
    @pytest.mark.parametrize(
        "options",
        [
            {},
            pytest.param({"ignore_null_updates": True, "partition_by": "name"}, marks=pytest.mark.slow),
            {"stored_as_scd_type": 2},
        ],
        ids=["rows", "partial updates in partitions", "history"],
    )
    def test_tombstones_are_not_taken_for_those_of_another_key(
        self, merger: Any, options: dict[str, Any]
    ) -> None:
        table = merger({**FEED, **options}, SCHEMA)
        table.merge([change(1, "a", 10), delete(7, 50)])
        before = table.history()
        table.model["config"]["unique_key"] = "sku"
        with pytest.raises(DbtRuntimeError) as raised:
            table.merge([change(2, "b", 20, sku=7)])
        reported = str(raised.value)
        assert "LedgerMismatch: Expected the ledger of" in reported
        assert "to be for unique_key sku (bigint) and sequence_by ts (bigint)" in reported
        assert "found one for unique_key id (bigint) and sequence_by ts (bigint)." in reported
        assert "Set the options back, or run with --full-refresh" in reported
        assert "keep: true}'" in reported
        assert (names(table), table.history()) == (["a"], before)

        assert table.merge([change(2, "b", 20, sku=7)], rebuild=True).inserted == 1
        assert recorded(table)["key"] == [{"expression": "sku", "type": "bigint"}]

    @pytest.mark.slow
    def test_nor_those_of_another_sequence(self, merger: Any) -> None:
        table = merger(FEED, SCHEMA)
        table.merge([change(1, "a", 10), delete(7, 50)])
        for sequence, hidden, reported in (
            ("at", ["op"], r"sequence_by at \(timestamp\); found .* sequence_by ts \(bigint\)\. "),
            (["ts", "sku"], ["op", "at"], r"sequence_by ts \(bigint\), sku \(bigint\); found"),
            ("ts + 1", ["op", "at"], r"sequence_by ts \+ 1 \(bigint\); found"),
        ):
            table.model["config"].update(sequence_by=sequence, except_column_list=hidden)
            with pytest.raises(DbtRuntimeError, match=f"LedgerMismatch.*{reported}") as raised:
                table.merge([change(7, "b", 20)])
            assert ("keep: true" in str(raised.value)) == (sequence == "ts + 1")
        assert reset(table) == 2
        assert table.merge([change(7, "b", 20)]).inserted == 1

    @pytest.mark.slow
    def test_other_spellings_and_another_order_of_the_key_are_the_same(self, merger: Any) -> None:
        config = {**FEED, "unique_key": ["id", "name"], "sequence_by": "coalesce(ts, 0)"}
        table = merger(config, SCHEMA)
        table.merge([change(1, "a", 10), change(7, "x", 50, "D")])
        table.model["config"].update(unique_key=["NAME", "Id"], sequence_by=["COALESCE( `TS`,0 ) /* at */"])
        late, new = change(7, "x", 40), change(8, "x", 40)
        assert (table.merge([late, new]).inserted, names(table)) == (1, ["a", "x"])
        table.model["config"]["sequence_by"] = "coalesce(ts, 1)"
        with pytest.raises(DbtRuntimeError, match="LedgerMismatch"):
            table.merge([change(8, "y", 60)])

    @pytest.mark.slow
    def test_a_ledger_that_is_empty_is_one_for_any_key(self, merger: Any) -> None:
        table = merger(FEED, SCHEMA)
        table.merge([change(1, "a", 10)])
        table.model["config"].update(unique_key="sku", sequence_by="ts + 1")
        assert table.merge([change(1, "b", 20), delete(7, 30)]).updated == 1
        assert recorded(table)["sequence"] == [{"expression": "ts + 1", "type": "bigint"}]
        assert table.merge([change(7, "late", 25)]).version == 0

    @pytest.mark.slow
    def test_it_is_kept_for_new_names_of_the_same_columns(self, merger: Any) -> None:
        table = merger({**FEED, "on_schema_change": "append_new_columns"}, SCHEMA)
        table.merge([change(1, "a", 10), delete(7, 50)])
        table.model["config"].update(unique_key="product", sequence_by="changed")
        table.feed = SCHEMA.replace("id bigint", "product bigint").replace("ts bigint", "changed bigint")
        with pytest.raises(DbtRuntimeError, match="LedgerMismatch"):
            table.merge([change(7, "late", 40)])
        assert reset(table, keep=True) == 2
        assert table.merge([change(7, "late", 40), change(8, "b", 40)]).inserted == 1
        assert recorded(table)["key"] == [{"expression": "product", "type": "bigint"}]

    def test_an_earlier_versions_ledger_is_taken_for_the_models(
        self, merger: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        reported: list[str] = []
        monkeypatch.setattr(
            ledger._LOG,
            "info",
            lambda text: reported.append(text) if "its ledger does not say" in text else None,
        )
        table, history = merger(FEED, SCHEMA), merger(HISTORY, SCHEMA)
        with monkeypatch.context() as earlier:
            earlier.setattr(Transaction, "describe_side_data", lambda *_: None)
            table.merge([change(1, "a", 10), delete(7, 50)])
            history.merge([change(1, "a", 10), delete(7, 50)])
        assert recorded(table) is None
        table.model["config"]["unique_key"] = ["id", "sku"]
        with pytest.raises(DbtRuntimeError, match=r"found one for unique_key __key_1 \(bigint\) and"):
            table.merge([change(2, "b", 20)])
        table.model["config"]["unique_key"] = "id"
        table.merge([change(2, "b", 20), change(7, "late", 40)])
        assert reported.pop().endswith(
            "is taken to be for unique_key id (bigint) and sequence_by ts (bigint)."
        )
        table.model["config"]["unique_key"] = "sku"
        with pytest.raises(DbtRuntimeError, match="LedgerMismatch"):
            table.merge([change(3, "c", 30)])
        assert (names(table), reported) == (["a", "b"], [])
        history.model["config"]["stored_as_scd_type"] = 1
        with pytest.raises(DbtRuntimeError, match="InvalidConfig"):
            history.merge([change(2, "b", 20)])

    @pytest.mark.slow
    def test_it_is_known_after_what_other_programs_do(self, merger: Any) -> None:
        table = merger({**FEED, "partition_by": "name"}, SCHEMA)
        table.sql(
            "create table {table} (id bigint, sku bigint, ts bigint) partitioned by (name string) stored as orc"
        )
        table.sql("insert into {table} values (1, 1, 10, 'a')")
        table.merge([delete(7, 50)])
        table.sql("insert into {table} values (5, 5, 5, 'by hand')")
        with table.adapter.connection_named(table.name):
            assert table.adapter.operations.recover(table.relation)
        assert table.history()[0]["operation"] == "foreign"
        table.model["config"]["unique_key"] = "sku"
        with pytest.raises(DbtRuntimeError, match="LedgerMismatch"):
            table.merge([change(2, "b", 20, sku=7)])

    @pytest.mark.slow
    def test_wider_types_are_read_as_they_are(self, merger: Any) -> None:
        config = {**FEED, "except_column_list": ["op", "at", "ts"], "on_schema_change": "sync_all_columns"}
        table, big = merger(config, SCHEMA.replace("bigint", "int")), 2**40
        table.merge([change(1, "a", 10), delete(7, 50)])
        table.feed = SCHEMA
        table.merge([change(7, "late", 40), change(1, "b", big), delete(big, big)])
        table.feed = SCHEMA.replace("ts bigint", "ts int")
        late = table.merge([change(big, "late", 60), change(1, "late", 60), change(7, "late", 40)])
        assert late.ignored == 3
        assert names(table) == ["b"]

    def test_without_a_sequence_it_is_not_read(self, merger: Any) -> None:
        table = merger(FEED, SCHEMA)
        table.merge([change(1, "a", 10), delete(7, 50)])
        table.model["config"]["sequence_by"] = None
        assert table.merge([change(7, "again", 40)]).inserted == 1

    @pytest.mark.slow
    def test_rows_whose_sequences_the_table_shows_need_them_there_for_good(self, merger: Any) -> None:
        table = merger(FEED, SCHEMA)
        table.merge([change(1, "a", 10)])
        config = dict(table.model["config"])
        for options in ({"except_column_list": ["op", "at", "ts"]}, {"merge_exclude_columns": ["ts"]}):
            table.model["config"] = {**config, **options}
            with pytest.raises(DbtRuntimeError, match=r"LedgerMismatch.*late changes would replace"):
                table.merge([change(1, "late", 5)])
        assert reset(table, keep=True) == 2
        assert table.merge([change(1, "taken", 5)]).updated == 1
        table.model["config"] = config
        assert table.merge([change(1, "late", 4)]).ignored == 1

    def test_a_sequence_of_another_type_is_not_compared_with_the_highest_known(self, merger: Any) -> None:
        table = merger({**FEED, "except_column_list": ["op", "at", "ts"]}, SCHEMA)
        table.merge([delete(1, 10)])
        assert reset(table) == 2
        table.feed = SCHEMA.replace("ts bigint", "ts string")
        assert table.merge([{**change(1, "a", 0), "ts": "2026-01-01"}]).inserted == 1

    def test_a_history_is_not_merged_into_as_another_kind(self, merger: Any) -> None:
        table = merger({**HISTORY, "bitemporal": True}, SCHEMA)
        table.merge([change(1, "a", 10)])
        config = dict(table.model["config"])
        for options in (
            {"stored_as_scd_type": 1, "bitemporal": False},
            {"bitemporal": False},
            {"history_partition": "ended_in"},
        ):
            table.model["config"] = {**config, **options}
            with pytest.raises(
                DbtRuntimeError, match=r"InvalidConfig.*history in __start_at.*--full-refresh"
            ):
                table.merge([change(1, "b", 20)])
        assert names(table) == ["a"]


@pytest.mark.slow
class TestTexts:
    @pytest.mark.parametrize("config", [FEED, HISTORY], ids=["rows", "history"])
    def test_keys_and_columns_of_a_declared_length(self, merger: Any, config: dict[str, Any]) -> None:
        table = merger(
            {**config, "except_column_list": ["op", "at", "sku"]}, SCHEMA.replace("id bigint", "id string")
        )
        shown = "valid_from bigint, valid_to bigint" if config is HISTORY else "ts bigint"
        names_of = {"history_column_names": {"start_at": "valid_from", "end_at": "valid_to"}}
        table.model["config"].update({**names_of, "history_layout": "plain"} if config is HISTORY else {})
        table.sql(f"create table {{table}} (id varchar(10), name char(3), {shown}) stored as orc")
        for ts in (1, 3):
            table.merge([{**change(None, "abc", ts), "id": "one"}, {**delete(1, ts), "id": "gone"}])
        table.merge([{**change(None, "lte", 2), "id": "gone"}])
        current = "where valid_to is null" if config is HISTORY else ""
        assert table.sql(f"select id, name from {{table}} {current}") == [("one", "abc")]
