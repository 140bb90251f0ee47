"""Ingest of topics, as far as it needs no broker; with one: `functional/concurrency/test_topic_runs.py`."""

from __future__ import annotations

from typing import Any

import pytest
from dbt_common.exceptions import DbtRuntimeError

KAFKA = {"kafka.bootstrap.servers": "localhost:9", "subscribe": "alerts"}


def test_a_spark_without_the_connector_is_an_error_with_its_coordinates(ingester: Any) -> None:
    # what is of files alone must not be there
    table = ingester({"kafka": KAFKA, "landing": None, "settle_seconds": None}, {"id": "int"})
    with pytest.raises(
        DbtRuntimeError,
        match=r"ConnectorMissing: .*spark.jars.packages: org.apache.spark:spark-sql-kafka-0-10_2.1[23]:[34]",
    ):
        table.run()
    assert not table.sql(f"show tables in {table.relation.schema} like '{table.name}'")


def test_a_run_with_empty_asks_no_broker(ingester: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dbt.adapters.lakemerge.connections._reads", lambda: "none")
    table = ingester({"kafka": KAFKA, "landing": None, "settle_seconds": None}, {"id": "int"})
    table.run()
    table.run()
    assert table.rows() == []
    assert [commit["operation"] for commit in table.history()] == ["ingest"]
