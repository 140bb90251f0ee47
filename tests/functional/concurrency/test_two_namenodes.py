"""Runs on HDFS behind a mount of viewfs, while the NameNode that serves dies and the other takes over."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from engines import hdfs
from engines.hdfs_pair import HdfsPair
from engines.installed import require
from functional.concurrency.conftest import DbtProject, read_until
from kernel.servers import MetastoreServer
from lakemerge.kernel import Jvm, Kernel, TableName, ports_of
from lakemerge.kernel.maintenance.history import history

pytestmark = pytest.mark.slow

MODEL = """
{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id', sequence_by='day',
          partition_by='part') }}
select id, {{ var('day') }} as day, id % 3 as part
from range(100 * ({{ var('day') }} - 1), 100 * {{ var('day') }} + 100)
"""


@pytest.fixture(scope="module")
def pair() -> Iterator[HdfsPair]:
    require("hdfs", hdfs.missing())
    pair = HdfsPair().start()
    pair.make("/warehouse", "/tmp")
    yield pair
    pair.stop()


@pytest.fixture(scope="module")
def project(pair: HdfsPair, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DbtProject]:
    folder, root = tmp_path_factory.mktemp("metastore"), tmp_path_factory.mktemp("pair", numbered=False)
    server = MetastoreServer(folder, warehouse=f"{pair.uri}/default", storage=pair.settings).start()
    settings = {f"spark.hadoop.{name}": value for name, value in pair.settings.items()}
    project = DbtProject(root, server, settings, f"{pair.uri}/{root.name}")
    project.write("models/mounted.sql", MODEL)
    yield project
    server.stop()


@pytest.mark.usefixtures("bare_gateway")
def test_a_run_goes_on_with_the_other_namenode(pair: HdfsPair, project: DbtProject) -> None:
    assert "200 inserted" in project.run("run")
    run = project.start("run", "--vars", "day: 2")
    read_until(run, "START sql incremental model")
    time.sleep(2)
    pair.kill_active()
    output = run.communicate(timeout=400)[0]
    assert run.returncode == 0, output
    assert "100 inserted, 100 updated" in output
    assert "100 inserted, 100 updated" in project.run("run", "--vars", "day: 3")
    arguments = "{select: '*', dry_run: false, retention_hours: 0.0001, allow_short_retention: true}"
    project.run("run-operation", "lakemerge_vacuum", "--args", arguments)
    with project.commands() as dbt:
        query = "select day, count(*), count(distinct id) from {{ ref('mounted') }} group by day"
        assert sorted(dbt.rows(query)) == [[1, 100, 100], [2, 100, 100], [3, 200, 200]]
    kernel = Kernel(ports_of(Jvm.launch(project.server.client_conf)))
    name = TableName(project.name, "mounted")
    assert history(kernel, name)[0].version == 3
    assert kernel.settled(name)[0].layout.root.startswith(f"{pair.uri}/")
