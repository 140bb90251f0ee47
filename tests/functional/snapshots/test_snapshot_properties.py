"""Whatever a source shows from run to run, the history is the one that the oracle tells."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from dbt.tests.util import run_dbt
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from examples import OFTEN
from functional.node_table import NodeTable
from functional.snapshots.oracle import Row, State, Version, histories

pytestmark = pytest.mark.slow

COLUMNS = "id int, name string, changed_at timestamp"
ROWS: st.SearchStrategy[Row] = st.tuples(
    st.sampled_from(["a", "b", None]), st.one_of(st.none(), st.integers(1, 5))
)
STATES = st.lists(st.dictionaries(st.integers(1, 3), ROWS), min_size=2, max_size=5)
MANY = settings(max_examples=OFTEN, deadline=None, suppress_health_check=list(HealthCheck))


class Snapshotter(NodeTable):
    """A table that states of a source are put into, as the materialization does, without a dbt invocation each."""

    def __init__(self, project: Any, **config: Any) -> None:
        query = "select * from lakemerge_test_source"
        config = {"unique_key": "id", "materialized": "snapshot", **config}
        super().__init__(project, "history", {"config": config, "columns": {}, "compiled_code": query})

    @property
    def _override(self) -> dict[str, Any]:
        return {"model": self.model, "config": self.model["config"], "this": self.relation}

    @property
    def context(self) -> dict[str, Any]:
        context = super().context
        context.update(self._override)
        return context

    def _call(self, macro: str, **arguments: Any) -> Any:
        return self.adapter.execute_macro(macro, kwargs=arguments, context_override=self._override)

    def take(self, state: State) -> None:
        adapter = self.adapter
        with adapter.connection_named(self.name):
            spark = adapter.handle.spark
            rows = [
                (key, name, day and datetime.datetime(2024, 1, day)) for key, (name, day) in state.items()
            ]
            spark.createDataFrame(rows, COLUMNS).createOrReplaceTempView("lakemerge_test_source")
            exists = bool(adapter.get_columns_in_relation(self.relation))
            strategy = self._call("lakemerge_snapshot_strategy", target_exists=exists)
            sql = self.model["compiled_code"]
            feed = self._call("build_snapshot_table", strategy=strategy, sql=sql)
            spark.sql(f"create or replace temporary view lakemerge_feed as {feed}")
            request = adapter.nodes.request(self.relation, self.model, "snapshot")
            adapter.nodes.publish(self.context, request)

    def rows(self) -> list[Any]:
        return self.sql("select * from {table}")


def reported(expected: dict[int, list[Version]]) -> list[tuple[Any, ...]]:
    return [
        (key, v.name, ("time", v.begins), ("time", v.ends), v.deleted)
        for key, all_of in expected.items()
        for v in all_of
    ]


def ranked(versions: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """The versions with their times by rank: what a run's time was, nobody can say beforehand."""
    times = {
        part[1] for version in versions for part in version if isinstance(part, tuple) and part[1] is not None
    }
    ranks = {time: rank for rank, time in enumerate(sorted(times))}
    made = [
        tuple(ranks.get(part[1]) if isinstance(part, tuple) else part for part in version)
        for version in versions
    ]
    return sorted(made, key=repr)


@pytest.fixture(scope="class")
def ran(project: Any) -> Any:
    run_dbt(["parse"])
    return project


@pytest.mark.parametrize(
    ("strategy", "hard_deletes"),
    [
        ("timestamp", "new_record"),
        ("timestamp", "invalidate"),
        ("timestamp", "ignore"),
        ("check", "invalidate"),
        ("check", "new_record"),
    ],
)
class TestHistories:
    def test_a_history_is_what_the_oracle_tells(self, ran: Any, strategy: str, hard_deletes: str) -> None:
        options: dict[str, Any] = (
            {"updated_at": "changed_at"} if strategy == "timestamp" else {"check_cols": ["name"]}
        )

        @MANY
        @given(states=STATES)
        @example(states=[{}, {}])
        def check(states: list[State]) -> None:
            table = Snapshotter(ran, strategy=strategy, hard_deletes=hard_deletes, **options)
            for state in states:
                table.take(state)
            found = [
                (
                    row.id,
                    row.name,
                    ("time", row.dbt_valid_from),
                    ("time", row.dbt_valid_to),
                    getattr(row, "dbt_is_deleted", "False") == "True",
                )
                for row in table.rows()
            ]
            ids = [row.dbt_scd_id for row in table.rows()]
            assert len(ids) == len(set(ids)), "an id is used twice"
            assert all((row.dbt_valid_to is None) == (row["dbt_closed_in"] == 0) for row in table.rows())
            assert ranked(found) == ranked(reported(histories(states, strategy, hard_deletes)))
            table.drop()

        check()
