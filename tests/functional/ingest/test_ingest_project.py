"""A project: landed files, their ingest, and masters merged from it, by dbt's own commands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from dbt.tests.util import run_dbt

PRODUCTS = """
{{ config(materialized='ingest', landing=var('landing') ~ '/products', settle_seconds=0,
          record_columns=['_file', '_line', '_batch', '_file_modified']) }}
"""
MASTER = """
{{ config(materialized='incremental', incremental_strategy='merge', unique_key='product_id',
          sequence_by=lakemerge_sequence_by_file_name(),
          apply_as_deletes=lakemerge_deletes_by_file_prefix('deleted_'),
          except_column_list=['_file', '_line']) }}
select product_id, price, _file, _line from {{ ref('product_files') }}
"""
BY_INGEST = """
{{ config(materialized='incremental', incremental_strategy='merge', unique_key='product_id',
          sequence_by=lakemerge_sequence_by_ingest(), apply_as_deletes=lakemerge_deletes_by_op_code('price', ['2.00']),
          column_list=['product_id', 'price']) }}
select product_id, price, _file, _line, _batch, _file_modified from {{ ref('product_files') }}
"""
EVENTS = """
{{ config(materialized='ingest', landing=var('landing') ~ '/events', format='json', settle_seconds=0,
          extra_fields='drop') }}
"""
FLAT = """
{{ config(materialized='ingest', landing=var('landing') ~ '/flat', format='json', settle_seconds=0,
          extra_fields='drop') }}
"""
ORDERS = """
{{ config(materialized='incremental', unique_key='id', **lakemerge_debezium_config()) }}
{{ lakemerge_debezium_changes(ref('order_events'), ['id', 'status']) }}
"""
FLAT_ORDERS = """
{{ config(materialized='incremental', unique_key='id', **lakemerge_debezium_config(parts=1)) }}
{{ lakemerge_debezium_changes(ref('flat_events'), ['id', 'status'], form='flattened') }}
"""
YML = """
models:
  - name: product_files
    description: Products as they landed.
    config: {contract: {enforced: true}}
    columns:
      - {name: product_id, data_type: string, constraints: [{type: not_null}], description: The key.}
      - {name: price, data_type: "decimal(8,2)"}
  - name: order_events
    columns:
      - {name: before, data_type: "struct<id:int,status:string>"}
      - {name: after, data_type: "struct<id:int,status:string>"}
      - {name: op, data_type: string}
      - {name: source, data_type: "struct<ts_ms:bigint,lsn:bigint>"}
  - name: flat_events
    columns:
      - {name: id, data_type: int}
      - {name: status, data_type: string}
      - {name: __op, data_type: string}
      - {name: __deleted, data_type: string}
      - {name: __source_ts_ms, data_type: bigint}
"""


def event(op: str, lsn: int, before: Any = None, after: Any = None) -> str:
    row = {
        "before": before,
        "after": after,
        "op": op,
        "source": {"ts_ms": 1000, "lsn": lsn, "db": "shop"},
        "ts_ms": 9,
    }
    return json.dumps(row)


def flat(number: int, status: str, op: str, at: int) -> str:
    row = {
        "id": number,
        "status": status,
        "__op": op,
        "__deleted": str(op == "d").lower(),
        "__source_ts_ms": at,
    }
    return json.dumps(row)


class TestProject:
    @pytest.fixture(scope="class")
    def landing(self, tmp_path_factory: pytest.TempPathFactory) -> Path:
        folder = tmp_path_factory.mktemp("landing")
        for name in ("products", "events", "flat"):
            (folder / name).mkdir()
        return folder

    @pytest.fixture(scope="class")
    def project_config_update(self, landing: Path) -> dict[str, Any]:
        return {"vars": {"landing": str(landing)}}

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            "product_files.sql": PRODUCTS,
            "product_master.sql": MASTER,
            "product_by_ingest.sql": BY_INGEST,
            "order_events.sql": EVENTS,
            "orders.sql": ORDERS,
            "flat_events.sql": FLAT,
            "flat_orders.sql": FLAT_ORDERS,
            "models.yml": YML,
        }

    @staticmethod
    def rows(project: Any, sql: str) -> list[tuple[Any, ...]]:
        found: list[tuple[Any, ...]] = project.run_sql(sql, fetch="all")
        return [tuple(row) for row in found]

    def test_files_become_masters(self, project: Any, landing: Path) -> None:
        products = landing / "products"
        # by their names the second is the older
        (products / "products_200.csv").write_text("P1,3.00\nP2,5.00\nP2,6.00\nP9,\n")
        (products / "products_100.csv").write_text("P1,1.00\nP3,2.00\n")
        (products / "deleted_150.csv").write_text("P3,2.00\n\\N,1.00\n")
        one, two = {"id": 1, "status": "new"}, {"id": 2, "status": "new"}
        (landing / "events" / "a.json").write_text(
            "\n".join(
                [
                    event("r", 1, after=one),
                    event("c", 2, after=two),
                    event("u", 4, before=one, after={"id": 1, "status": None}),
                    event("u", 3, before=one, after={"id": 1, "status": "paid"}),
                    event("d", 5, before=two),
                    "{}",
                ]
            )
            + "\n"
        )
        (landing / "flat" / "a.json").write_text(
            "\n".join(
                [
                    flat(1, "new", "c", 1),
                    flat(2, "new", "c", 1),
                    flat(1, "paid", "u", 2),
                    flat(2, "new", "d", 3),
                ]
            )
            + "\n"
        )
        results = run_dbt(["run"])
        responses = {result.node.name: result.adapter_response for result in results}
        assert (
            responses["product_files"]["_message"] == "INGEST (6 inserted, 2 quarantined, 3 files, version 1)"
        )
        master = f"select product_id, price from {project.test_schema}.product_master order by 1"
        assert [(key, str(price)) for key, price in self.rows(project, master)] == [
            ("P1", "3.00"),
            ("P2", "6.00"),
        ]
        assert self.rows(project, f"select * from {project.test_schema}.orders order by id") == [(1, None)]
        assert self.rows(project, f"select * from {project.test_schema}.flat_orders") == [(1, "paid")]
        again = {result.node.name: result.adapter_response for result in run_dbt(["run"])}
        assert {name: response["version"] for name, response in again.items()} == dict.fromkeys(again, 0)

    @pytest.mark.slow
    def test_quarantine_and_replay(self, project: Any) -> None:
        view = f"{project.test_schema}.product_files__quarantine_by_reason"
        assert self.rows(project, f"select reason, column_name, records from {view} order by reason") == [
            ("constraint_violated", None, 1),
            ("malformed_value", "price", 1),
        ]
        config = {"null_literal": ""}
        path = Path(project.project_root) / "models" / "product_files.sql"
        path.write_text(
            PRODUCTS.replace("settle_seconds=0", f"settle_seconds=0, null_literal='{config['null_literal']}'")
        )
        arguments = "{model_name: product_files, where: \"reason = 'malformed_value'\"}"
        run_dbt(["run-operation", "lakemerge_replay", "--args", arguments])
        assert self.rows(project, f"select reason from {view}") == [("constraint_violated",)]
        files = f"{project.test_schema}.product_files"
        assert self.rows(project, f"select price, _line, _batch from {files} where product_id = 'P9'") == [
            (None, 4, 1)
        ]
        assert run_dbt(["run"])[0] is not None
        run_dbt(["run-operation", "lakemerge_replay", "--args", "{model_name: nothing}"], expect_pass=False)

    def test_docs_and_constraints(self, project: Any) -> None:
        columns = self.rows(project, f"describe {project.test_schema}.product_files")
        assert [column[0] for column in columns[:2]] == ["product_id", "price"]
