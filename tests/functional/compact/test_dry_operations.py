"""Dry runs of operations leave the metastore and all files as they are, whatever others have left to finish."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
from dbt.tests.util import run_dbt

from kernel.support import Died
from lakemerge.kernel import Kernel, TableName
from lakemerge.kernel.ports import Metastore
from lakemerge.kernel.ports.system import SystemHost

MASTER = """
{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id', partition_by='part',
          write_mode=var('write_mode', 'copy_on_write'), compaction='off') }}
select id, {{ var('round', 0) }} as round, cast(id % 2 as string) as part from range(20)
"""


@pytest.fixture(scope="class")
def models() -> dict[str, str]:
    return {"master.sql": MASTER, "on_read.sql": MASTER}


def rows_of(metastore: Metastore, schema: str) -> dict[str, Any]:
    """All that the metastore has of a schema's tables."""
    found: dict[str, Any] = {}
    for one in metastore.table_summaries(schema):
        name = TableName(schema, one.name)
        table = metastore.get_table(name)
        assert table is not None
        names = metastore.partition_names(name) if table.partitioned else []
        found[one.name] = (table, metastore.partitions(name, names))
    return found


def files_of(folder: Path) -> dict[str, tuple[int, int]]:
    """All files and directories below a folder, with size and time."""
    found = {str(path): path.stat() for path in folder.rglob("*")}
    return {path: (stat.st_size, stat.st_mtime_ns) for path, stat in found.items()}


class TestDryRuns:
    def test_they_change_nothing(self, project: Any, warehouse: Path) -> None:
        schema = project.test_schema
        for number in range(2):
            run_dbt(["run", "--select", "master", "--vars", json.dumps({"round": number})])
            variables = {"round": number, "write_mode": "merge_on_read"}
            run_dbt(["run", "--select", "on_read", "--vars", json.dumps(variables)])
        project.run_sql(f"create table {schema}.plain using orc as select 1 as id")
        with project.adapter.connection_named("another program"):
            foreign = "select 99 as id, 9 as round"
            project.adapter.handle.spark.sql(f"insert into {schema}.master partition (part = '1') {foreign}")

        def reached(step: str) -> None:
            if step == "claimed":
                raise Died

        with project.adapter.connection_named("kernel"):
            ports = project.adapter.handle.application.ports
        kernel = Kernel(ports, step=reached)
        transaction = kernel.begin(TableName(schema, "master"), "merge")
        transaction.remove(["part=0"])
        with contextlib.suppress(Died):
            transaction.commit()
        SystemHost().open_here.discard(transaction.txn)  # its process has ended
        rows, files = rows_of(ports.metastore, schema), files_of(warehouse)
        assert rows["master"][0].parameters["lakemerge.version"] == f"3:{transaction.txn}"

        def dry(operation: str, **arguments: Any) -> None:
            run_dbt(["run-operation", operation, "--args", json.dumps({**arguments, "dry_run": True})])

        short = {"retention_hours": 0.0001, "allow_short_retention": True}
        dry("lakemerge_vacuum", select=f"{schema}.*", **short)
        dry("lakemerge_vacuum", table="plain", **short)
        dry("lakemerge_compact", select=f"{schema}.*")
        dry("lakemerge_compact", select="master", sort_by=["id"])
        dry("lakemerge_compact", select="on_read", deltas="minor")
        for table in ("master", "on_read", "plain"):
            dry("lakemerge_drop", table=table)
        assert rows_of(ports.metastore, schema) == rows
        assert files_of(warehouse) == files
        run_dbt(["run-operation", "lakemerge_recover", "--args", "{table: master}"])
        assert "part=0" not in ports.metastore.partition_names(TableName(schema, "master"))
