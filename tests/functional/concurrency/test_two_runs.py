"""Two `dbt run` of one model at once, each in a process of its own, on one metastore process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lakemerge.kernel import Jvm, Kernel, TableName, ports_of
from lakemerge.kernel.maintenance.history import history

pytestmark = pytest.mark.slow

MODEL = """
{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id', sequence_by='ts',
          partition_by='part') }}
select id, {{ var('day') }} as ts, id % 5 as part, concat('day ', {{ var('day') }}) as name
from range({{ var('day') }} * 100, {{ var('day') }} * 100 + 200)
"""


@pytest.mark.usefixtures("bare_gateway")
def test_two_runs_at_once_give_one_result(dbt_project: Callable[[str], Any]) -> None:
    project = dbt_project("twice")
    project.write("models/twice.sql", MODEL)
    kernel = Kernel(ports_of(Jvm.launch(project.server.client_conf)))
    with project.two_at_once() as both:
        for day in (1, 2):  # the first day both make the table, the second both merge into it
            inserted = [response["inserted"] for response in both("run", "--vars", f"day: {day}")]
            assert sum(inserted) == (200 if day == 1 else 100), (
                "every row is inserted by one of the two runs alone"
            )
            commits = history(kernel, TableName("twice", "twice"))
            assert [commit.version for commit in commits] == list(range(day, 0, -1))
            assert commits[0].properties["rows"] == 100 + 100 * day
