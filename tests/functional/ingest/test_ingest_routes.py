"""Records of several tables in one file: each goes into its table, by one commit with the ingest's own."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from dbt.tests.util import run_dbt
from dbt_common.exceptions import CompilationError, DbtRuntimeError

from functional.ingest.conftest import Ingester
from functional.merge.conftest import Merger
from functional.transactions.conftest import Appended
from lakemerge.kernel import Kernel, as_of_group

#: What a line of a file says: the table, what is done, and the values of its columns.
COLUMNS = {
    "source": "string",
    "op": "string",
    "id": "bigint",
    "name": "string",
    "amount": "string",
    "ts": "bigint",
}
ORDERS = {
    "unique_key": "id",
    "sequence_by": "ts",
    "apply_as_deletes": "op = 'D'",
    "except_column_list": ["op"],
}
ORDERS_FEED = "id bigint, name string, amount decimal(6,2), ts bigint, op string"
FIRST = {"id": 1, "name": "first", "amount": None, "ts": 1, "op": "U"}


class Shop:
    """A table with a sequence, one without a key, and an ingest that takes records to them."""

    def __init__(self, project: Any, folder: Path, orders: dict[str, Any], **config: Any) -> None:
        self.orders = Merger(project, {**ORDERS, **orders}, ORDERS_FEED)
        self.orders.merge([FIRST])
        self.log = Appended(project, {"append_layout": "commit_partitioned"}, "id bigint, what string")
        self.log.append([{"id": 0, "what": "begin"}])
        routes = {
            "orders": {"table": self.name(self.orders), "deletes": "op = 'D'"},
            "log": {"table": self.name(self.log), "columns": {"what": "name"}},
        }
        more = {"route_by": "source", "routes": routes, "null_literal": "-", **config}
        self.ingest = Ingester(project, folder, more, COLUMNS)

    @staticmethod
    def name(table: Any) -> str:
        return f"{table.relation.schema}.{table.relation.identifier}"

    def ids(self) -> dict[int, str]:
        """The names of the orders."""
        return {row["id"]: row["name"] for row in self.orders.rows()}

    def logged(self) -> list[str]:
        return [row["what"] for row in self.log.sql("select what from {table} order by id")]

    def groups(self) -> set[str | None]:
        """The groups of the newest commits of all three tables."""
        with self.ingest.adapter.connection_named("groups"):
            ports = self.ingest.adapter.handle.application.ports
            names = [table.relation.table_name for table in (self.orders, self.log, self.ingest)]
            return {manifest.group for manifest in as_of_group(Kernel(ports), names).values()}


@pytest.fixture
def shop(project: Any, tmp_path: Path) -> Callable[..., Shop]:
    """Makes a :class:`Shop`: ``shop(orders=options of the merge, **options of the ingest)``."""
    run_dbt(["run"])
    return lambda orders=None, **config: Shop(project, tmp_path, orders or {}, **config)


class TestRoutes:
    def test_each_record_changes_its_table_once_and_by_one_commit(self, shop: Callable[..., Shop]) -> None:
        made = shop()
        made.ingest.run()
        assert made.ids() == {1: "first"}, "a run without records leaves the tables as they are"
        made.ingest.land(
            "a.csv",
            "orders,U,2,b,1.50,2\nlog,-,1,sold,-,-\norders,U,2,later,2,2\norders,D,1,-,-,3\nlog,-,2,sent,-,-\n",
        )
        response = made.ingest.run()
        assert made.ids() == {2: "later"}
        assert made.logged() == ["begin", "sold", "sent"]
        assert len(made.ingest.rows()) == 5
        (group,) = made.groups()
        assert group
        done = response.routed[made.name(made.orders)]
        assert (done["inserted"], done["deleted"], done["version"]) == (1, 1, 2)
        assert response.routed[made.name(made.log)]["inserted"] == 2
        before = len(made.orders.history())
        assert made.ingest.run().version == 0
        assert len(made.orders.history()) == before
        # the delete is remembered: a change that is older than it comes too late
        made.ingest.land("b.csv", "orders,U,1,late,-,2\n")
        made.ingest.run()
        assert made.ids() == {2: "later"}

    @pytest.mark.slow
    def test_what_does_not_fit_its_table_is_quarantined_and_replayed_into_it(
        self, shop: Callable[..., Shop]
    ) -> None:
        made = shop()
        made.ingest.land(
            "a.csv",
            "orders,U,2,b,1.505,2\norders,U,3,c,x,2\norders,U,-,d,1,2\norders,U,5,e,1,-\n"
            "stock,U,6,f,1,2\n-,U,7,g,1,2\norders,U,8,h,1,2\nlog,-,9,x,not an amount,-\n",
        )
        assert made.ingest.run().quarantined == 6
        assert made.ingest.reasons() == [
            ("precision_lost", "amount"),
            ("malformed_value", "amount"),
            ("null_key", "id"),
            ("null_sequence", None),
            ("unknown_route", None),
            ("unknown_route", None),
        ]
        texts = [row["reason_text"] for row in made.ingest.quarantine("reason_text")]
        assert texts[0] == f"expected decimal(6,2) for {made.name(made.orders)}, found 1.505"
        assert texts[4] == "expected one of orders, log, found stock"
        assert (made.ids(), made.logged()) == ({1: "first", 8: "h"}, ["begin", "x"])
        assert made.ingest.replay().version == 0
        routes = made.ingest.model["config"]["routes"]
        routes["orders"]["columns"] = {"amount": "round(try_cast(amount as double), 2)"}
        made.ingest.model["config"]["unknown_route"] = "keep"
        replayed = made.ingest.replay()
        assert (replayed.inserted, replayed.quarantined) == (4, 2)
        assert replayed.routed[made.name(made.orders)]["inserted"] == 2
        assert made.ids() == {1: "first", 2: "b", 3: "c", 8: "h"}
        assert {row["id"] for row in made.ingest.sql("select id from {table}")} == {2, 3, 6, 7, 8, 9}
        assert len(made.groups()) == 2, "the log has no part in the replay"

    @pytest.mark.slow
    def test_a_contract_of_the_table_is_kept_record_by_record(
        self, project: Any, shop: Callable[..., Shop]
    ) -> None:
        made = shop()
        made.orders.model["config"]["contract"] = {"enforced": True}
        check = {"type": "check", "expression": "amount < 100", "name": "small"}
        made.orders.model["columns"] = {"amount": {"name": "amount", "constraints": [check]}}
        made.orders.merge([{**FIRST, "ts": 2}])
        made.ingest.land("a.csv", "orders,U,2,b,100,2\norders,U,3,c,99,2\norders,D,1,-,100,3\n")
        made.ingest.run()
        assert made.ingest.reasons() == [("constraint_violated", None)]
        assert made.ids() == {3: "c"}

    @pytest.mark.slow
    def test_another_commit_that_comes_first_is_followed(
        self, shop: Callable[..., Shop], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        made, together, tried = shop(), Kernel.commit_together, []

        def overtaken(kernel: Kernel, transactions: Any) -> Any:
            tried.append([transaction.name.name for transaction in transactions])
            if len(tried) == 1:  # a dbt run is faster
                with ThreadPoolExecutor(1) as other:  # a connection is a thread's
                    other.submit(made.orders.merge, [{**FIRST, "id": 5, "ts": 50, "name": "of dbt"}]).result()
            return together(kernel, transactions)

        monkeypatch.setattr(Kernel, "commit_together", overtaken)
        made.ingest.land("a.csv", "orders,U,5,too late,-,49\norders,U,6,new,-,60\nlog,-,1,once,-,-\n")
        made.ingest.run()
        assert [len(names) for names in tried] == [3, 3]
        assert made.ids() == {1: "first", 5: "of dbt", 6: "new"}
        assert (made.logged(), len(made.ingest.rows())) == (["begin", "once"], 3)

    @pytest.mark.slow
    def test_a_table_that_is_merged_on_read(self, shop: Callable[..., Shop]) -> None:
        made = shop({"write_mode": "merge_on_read"})
        made.ingest.land("a.csv", "orders,U,2,b,1,2\norders,D,1,-,-,3\n")
        made.ingest.run()
        assert made.orders.kind() == "VIRTUAL_VIEW"
        assert made.ids() == {2: "b"}

    @pytest.mark.slow
    def test_a_truncate_leaves_it_merged_on_read(self, shop: Callable[..., Shop]) -> None:
        made = shop({"write_mode": "merge_on_read"})
        made.ingest.model["config"]["routes"]["orders"]["truncates"] = "op = 'T'"
        made.ingest.land("a.csv", "orders,U,2,b,1,9\norders,T,-,-,-,5\n")
        made.ingest.run()
        assert (made.orders.kind(), made.ids()) == ("VIRTUAL_VIEW", {2: "b"})

    def test_a_file_that_cannot_be_read_to_its_end_changes_no_table(self, shop: Callable[..., Shop]) -> None:
        made = shop()
        made.ingest.land("good.csv", "orders,U,2,b,1,2\n")
        lines = gzip.compress(b"orders,U,3,c,1,2\n" * 10000)
        cut = made.ingest.land("cut.csv.gz", lines[:-20])
        with pytest.raises(DbtRuntimeError, match=r"UnreadableFile.*cut\.csv\.gz"):
            made.ingest.run()
        assert made.ids() == {1: "first"}
        cut.unlink()
        made.ingest.run()
        assert made.ids() == {1: "first", 2: "b"}

    @pytest.mark.slow
    def test_what_cannot_be_right_is_refused(self, project: Any, shop: Callable[..., Shop]) -> None:
        made = shop()
        history = Merger(project, {**ORDERS, "stored_as_scd_type": 2}, ORDERS_FEED)
        history.merge([FIRST])
        config = made.ingest.model["config"]
        routes, orders, log = config["routes"], config["routes"]["orders"], config["routes"]["log"]

        def refused(match: str, kind: type[Exception] = DbtRuntimeError, **given: Any) -> None:
            config["routes"] = given or routes
            with pytest.raises(kind, match=match):
                made.ingest.run()

        refused("WithoutRules", orders=made.name(history))
        refused("TableNotFound", orders="nothing_of_that_name")
        refused("colour, which the table does not have", orders={**orders, "columns": {"colour": "op"}})
        refused("no what, and no column of that name", log=made.name(made.log))
        refused("deletes and truncates, of a table without", log={**log, "deletes": "op = 'D'"})
        refused("SQL over the columns of the records", orders={**orders, "deletes": "operation = 'D'"})
        refused("of its own for each route", CompilationError, orders=orders, more=made.name(made.orders))
        refused("than the model's own", CompilationError, orders=made.name(made.ingest))
        config["routes"] = routes
        made.ingest.land("a.csv", "log,-,1,once,-,-\n")
        made.ingest.run()
        with pytest.raises(CompilationError, match="--full-refresh sends records there again"):
            made.ingest.run(rebuild=True)
        assert made.logged() == ["begin", "once"]


_EMPTY = """
{{ config(materialized='incremental', unique_key='id', **lakemerge_debezium_config()) }}
select
    cast(null as bigint) as id,
    cast(null as string) as name,
    cast(null as bigint) as __sequence_1,
    cast(null as bigint) as __sequence_2,
    cast(null as string) as __op
where false
"""
_LOG = """
{{ config(materialized='incremental', incremental_strategy='append', append_layout='commit_partitioned') }}
select cast(null as bigint) as id, cast(null as string) as what where false
"""
_EVENTS = """
{{ config(
    materialized='ingest', landing=var('landing'), settle_seconds=0, format='json',
    extra_fields='drop', missing_fields='null', route_by='source.table',
    routes={
        'customers': lakemerge_debezium_route('customers', ['id', 'name']),
        'products': lakemerge_debezium_route('products', ['id', 'name']),
        'visits': {'table': 'visits', 'columns': {'id': 'after.id', 'what': 'after.name'}},
    },
) }}
{% do ref('visits') %}
"""
_YML = """
models:
  - name: events
    columns:
      - {name: op, data_type: string}
      - {name: source, data_type: "struct<table: string, ts_ms: bigint, lsn: bigint>"}
      - {name: before, data_type: "struct<id: bigint, name: string>"}
      - {name: after, data_type: "struct<id: bigint, name: string>"}
"""


@pytest.mark.slow
class TestDebezium:
    @pytest.fixture(scope="class")
    def landing(self, tmp_path_factory: pytest.TempPathFactory) -> Path:
        return tmp_path_factory.mktemp("events")

    @pytest.fixture(scope="class")
    def project_config_update(self, landing: Path) -> dict[str, Any]:
        return {"vars": {"landing": str(landing)}}

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            "events.sql": _EVENTS,
            "events.yml": _YML,
            "customers.sql": _EMPTY,
            "products.sql": _EMPTY,
            "visits.sql": _LOG,
        }

    def test_events_of_several_tables_go_into_tables_that_begin_empty(
        self, project: Any, landing: Path
    ) -> None:
        def rows(table: str) -> list[tuple[Any, ...]]:
            return sorted(project.run_sql(f"select id, {table}", fetch="all"))

        def land(name: str, *events: tuple[Any, ...]) -> None:
            lines = [
                json.dumps(
                    {
                        "op": op,
                        "source": {"table": table, "ts_ms": place, "lsn": place, "db": "shop"},
                        "before": before,
                        "after": after,
                    }
                )
                for place, (table, op, before, after) in enumerate(events, len(list(landing.iterdir())) * 100)
            ]
            (landing / name).write_text("\n".join(lines) + "\n")

        a, b = {"id": 1, "name": "a"}, {"id": 1, "name": "b"}
        run_dbt(["run"])
        land(
            "1.json",
            ("customers", "c", None, a),
            ("customers", "u", a, b),
            ("products", "c", None, a),
            ("products", "r", None, {"id": 2, "name": "c", "colour": "red"}),
            ("visits", "c", None, {"id": 9, "name": "seen"}),
        )
        run_dbt(["run"])
        assert rows("name from {schema}.customers") == [(1, "b")]
        assert rows("name from {schema}.products") == [(1, "a"), (2, "c")]
        assert rows("what from {schema}.visits") == [(9, "seen")]
        land(
            "2.json",
            ("customers", "d", b, None),
            ("products", "t", None, None),
            ("products", "c", None, {"id": 3, "name": "d"}),
            ("suppliers", "c", None, a),
        )
        run_dbt(["run"])
        assert rows("name from {schema}.customers") == []
        assert rows("name from {schema}.products") == [(3, "d")]
        found = project.run_sql("select reason from {schema}.events__quarantine", fetch="all")
        assert [tuple(row) for row in found] == [("unknown_route",)]
