"""`delete+insert`: stored rows with a key of the feed go, all rows of the feed come, in one commit."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.tests.util import run_dbt, run_dbt_and_capture
from dbt_common.exceptions import CompilationError, DbtRuntimeError

from functional.node_table import NodeTable

COLUMNS = "id int, name string, day string"
WITHOUT_KEY = """
{{ config(materialized='incremental', incremental_strategy=var('strategy'), unique_key=[]) }}
select {{ var('id', 1) }} as id
"""
WITH_SEQUENCE = """
{{ config(materialized='incremental', incremental_strategy='merge', sequence_by='id', sync='full') }}
select 1 as id
"""


class Replaced(NodeTable):
    """A table that the materialization writes to by delete+insert."""

    def __init__(self, project: Any, config: dict[str, Any]) -> None:
        strategy = {"materialized": "incremental", "incremental_strategy": "delete+insert"}
        super().__init__(project, "replaced", {"config": {**strategy, **config}, "columns": {}})

    def run(self, *rows: tuple[Any, ...], columns: str = COLUMNS) -> Any:
        """Run the model with these rows; returns the response."""
        adapter = self.adapter
        with adapter.connection_named(self.name):
            frame = adapter.handle.spark.createDataFrame(list(rows), columns)
            frame.createOrReplaceTempView("lakemerge_feed")
            exists = adapter.get_columns_in_relation(self.relation)
            request = adapter.nodes.request(self.relation, self.model, "delete+insert")
            return adapter.nodes.publish(self.context, request, bool(exists))

    def rows(self) -> list[tuple[Any, ...]]:
        """All rows, in the order of their columns."""
        return sorted((tuple(row) for row in self.sql("select * from {table}")), key=str)


@pytest.fixture(scope="class")
def models() -> dict[str, str]:
    return {"without_key.sql": WITHOUT_KEY, "with_sequence.sql": WITH_SEQUENCE}


class TestDeleteInsert:
    @pytest.mark.parametrize("partition_by", [pytest.param([], marks=pytest.mark.slow), ["day"]])
    def test_rows_of_the_feeds_keys_are_replaced_wherever_they_are(
        self, project: Any, partition_by: list[str]
    ) -> None:
        table = Replaced(project, {"unique_key": "id", "partition_by": partition_by})
        table.run((1, "a", "mon"), (1, "b", "tue"), (2, "c", "mon"), (3, "d", "wed"), (None, "e", "mon"))
        response = table.run((1, "f", "wed"), (4, "g", "wed"), (4, "h", "thu"), (None, "i", "mon"))
        assert (response.inserted, response.deleted) == (4, 2)
        kept = [(2, "c", "mon"), (3, "d", "wed"), (None, "e", "mon")]
        added = [(1, "f", "wed"), (4, "g", "wed"), (4, "h", "thu"), (None, "i", "mon")]
        assert table.rows() == sorted(kept + added, key=str)
        assert [commit["operation"] for commit in table.history()] == ["delete+insert", "replace"]
        assert table.history()[0]["metrics"] == {"inserted": 4, "deleted": 2}

    def test_partitions_that_are_not_concerned_are_not_written(self, project: Any) -> None:
        table = Replaced(project, {"unique_key": ["id", "day"], "partition_by": "day"})
        table.run((1, "a", "mon"), (1, "b", "tue"), (2, "c", None))
        assert table.run((1, "f", "tue"), (2, "g", None)).deleted == 1
        assert table.history()[0]["partitions"] == 2
        assert table.rows() == sorted(
            [(1, "a", "mon"), (1, "f", "tue"), (2, "c", None), (2, "g", None)], key=str
        )
        assert table.run().version == 0

    def test_a_partition_whose_rows_all_go_is_dropped(self, project: Any) -> None:
        table = Replaced(project, {"unique_key": "id", "partition_by": "day"})
        table.run((1, "a", "mon"), (2, "b", "tue"))
        table.run((1, "a", "tue"))
        assert [row[0] for row in table.sql("show partitions {table}")] == ["day=tue"]

    @pytest.mark.parametrize(
        "predicate", [pytest.param("day = 'mon'", marks=pytest.mark.slow), "dbt_internal_dest.day = 'mon'"]
    )
    def test_stored_rows_that_fail_the_predicates_stay(self, project: Any, predicate: str) -> None:
        table = Replaced(project, {"unique_key": "id", "incremental_predicates": [predicate, "name <> 'x'"]})
        table.run((1, "a", "mon"), (1, "b", "tue"), (1, "x", "mon"), (1, None, "mon"), (1, "c", None))
        assert table.run((1, "new", "wed")).deleted == 1
        stored = [(1, "b", "tue"), (1, "x", "mon"), (1, None, "mon"), (1, "c", None), (1, "new", "wed")]
        assert table.rows() == sorted(stored, key=str)

    def test_columns_may_change_with_it(self, project: Any) -> None:
        table = Replaced(
            project, {"unique_key": "id", "partition_by": "day", "on_schema_change": "sync_all_columns"}
        )
        table.run((1, "a", "mon"), (2, "b", "tue"))
        table.run((1, 7, "tue"), columns="id int, size int, day string")
        assert table.rows() == sorted([(1, 7, "tue"), (2, None, "tue")], key=str)

    def test_a_key_that_the_model_lacks_is_refused(self, project: Any) -> None:
        table = Replaced(project, {"unique_key": "nope"})
        table.run((1, "a", "mon"))
        with pytest.raises(DbtRuntimeError, match=r"InvalidConfig.*unique_key nope"):
            table.run((1, "a", "mon"))
        table.model["config"] |= {"sequence_by": "day"}
        with pytest.raises(CompilationError, match="only have a meaning with incremental_strategy 'merge'"):
            table.run((1, "a", "mon"))


@pytest.mark.slow
class TestWithoutKey:
    @pytest.mark.parametrize("strategy", ["merge", pytest.param("delete+insert", marks=pytest.mark.slow)])
    def test_all_rows_are_added_and_a_warning_says_so(self, project: Any, strategy: str) -> None:
        def run(number: int) -> str:
            variables = f"{{strategy: {strategy}, id: {number}}}"
            _, output = run_dbt_and_capture(["run", "--select", "without_key", "--vars", variables])
            return str(output)

        run_dbt(["run", "--select", "without_key", "--full-refresh", "--vars", f"{{strategy: {strategy}}}"])
        for number in (1, 2):
            output = run(number)
            assert "All rows of the model are added, as dbt does." in " ".join(output.split())
            assert "APPEND (1 inserted" in output
        rows = project.run_sql("select id from {schema}.without_key order by id", fetch="all")
        assert [row[0] for row in rows] == [1, 1, 2]

    def test_options_that_need_a_key_are_refused_without_one(self, project: Any) -> None:
        (result,) = run_dbt(["run", "--select", "with_sequence"], expect_pass=False).results
        assert "incremental_strategy 'merge' with sequence_by, sync needs a unique_key" in result.message
