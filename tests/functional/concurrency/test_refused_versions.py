"""A version that the metastore refuses for good after its claim: what commands say, and how an operator ends it."""

from __future__ import annotations

from pathlib import Path

import pytest

from functional.concurrency.conftest import DbtProject
from kernel.servers import MetastoreServer

MODEL = """
{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id', sequence_by='ts',
          partition_by='part') }}
select id, {{ var('day') }} as ts, '{{ var("part") }}' as part from range(3)
"""
# Hive's own switch: a partition is refused if a value of its columns does not match.
ONLY_LOWER_CASE = {"hive.metastore.partition.name.whitelist.pattern": "[a-z_]+"}
ONE, UPPER, LOWER = (f"{{day: {day}, part: {part}}}" for day, part in enumerate(("one", "TWO", "three"), 1))
RECOVER = "run-operation", "lakemerge_recover", "--args"


@pytest.mark.slow
def test_a_claim_that_is_refused_for_good_is_ended_by_an_operator(tmp_path: Path) -> None:
    (root := tmp_path / "refused").mkdir()
    (folder := tmp_path / "metastore").mkdir()
    lenient = MetastoreServer(folder, transaction_tables=False).start()
    try:
        project = DbtProject(root, lenient)
        project.write("models/events.sql", MODEL)
        project.run("run", "--vars", ONE)
        project.run_killed("run", "--vars", UPPER, at="claimed")
    finally:
        lenient.stop()
    strict = MetastoreServer(folder, settings=ONLY_LOWER_CASE, transaction_tables=False).start()
    try:
        # at the address of the new server
        with DbtProject(root, strict).commands() as dbt:
            for command in (
                ("run", "--vars", LOWER),
                (*RECOVER, "{table: events}"),
                ("run-operation", "lakemerge_vacuum", "--args", "{table: events, dry_run: false}"),
            ):
                refused = dbt(*command)
                assert not refused["success"]
                assert "ClaimRefused" in refused["message"]
                assert "TWO" in refused["message"]
                assert "undo_refused" in refused["message"]
            query = "select id, ts, part from {{ ref('events') }} order by id"
            old = [[number, 1, "one"] for number in range(3)]
            assert dbt.rows(query) == old
            dbt.succeed(*RECOVER, "{table: events, undo_refused: true}")
            assert dbt.rows(query) == old
            # what is known to be refused is not claimed
            answer = dbt("run", "--vars", UPPER)
            assert "UnsupportedTable" in answer["message"]
            assert "TWO" in answer["message"]
            dbt.succeed("run", "--vars", LOWER)
            assert dbt.rows(query) == [[number, 3, "three"] for number in range(3)]
    finally:
        strict.stop()
