"""Versions that have tables of their own: Trino and Hive read what there was, while the main tables go on.

Views that show the newest of them are built day by day: what is read is always what some day left.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest

from engines.hive import Hive
from engines.metastores import metastore_on
from engines.plain_spark import PlainSpark
from engines.test_other_engines import FEED, MODEL, TABLES, Shown, engine, same
from engines.trino import Trino
from functional.concurrency.conftest import DbtProject

__all__ = ["engine"]

pytestmark = pytest.mark.slow
REBUILT = """
{{ config(materialized='table', file_format='parquet',
          partition_by='region' if var('day') | int < 3 else 'day') }}
select *{{ ", 'new' as extra" if var('day') | int > 2 }} from ({{ feed(var('day')) }})
"""
EXACT = "select * from {{{{ version_of(ref('{name}')) }}}}"
TAGGED = ("orc_whole", "orc_parts", "parquet_parts", "history", "on_read_orc", "on_read_parquet", "rebuilt")


@dataclass(frozen=True)
class Tagged(Shown):
    """Tables that have changed since their versions got a tag.

    Attributes:
        rows: of each table when it got the tag, as a Spark that knows nothing of lakemerge read them.
        days: the rows that each day left, as the views of the newest versions show them.
    """

    project: DbtProject
    rows: dict[str, list[list[Any]]]
    days: dict[str, list[list[list[Any]]]]

    def read_views(self) -> None:
        for name, days in self.days.items():
            days.append(same(self.spark.sql(f"select * from {self.schema}.{name}_exact")))

    def go_on(self, *days: int) -> None:
        """Change all tables, pack their files, and delete what no version needs."""
        with self.project.commands() as dbt:
            for day in days:
                dbt.succeed("build", "--vars", f"day: {day}")
                self.read_views()
                everything = f"select: '{self.schema}.*'"
                dbt.succeed("run-operation", "lakemerge_compact", "--args", f"{{{everything}}}")
                free = f"{everything}, retention_hours: 0.0001, dry_run: false, allow_short_retention: true"
                dbt.succeed("run-operation", "lakemerge_vacuum", "--args", f"{{{free}}}")


@pytest.fixture(scope="module")
def shown(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tagged]:
    directory = tmp_path_factory.mktemp("tagged")
    with metastore_on(request.config.getoption("--metastore"), directory) as server:
        (root := directory / "shop").mkdir()
        project = DbtProject(root, server)
        spark = PlainSpark(server.spark_conf, directory)
        tagged = Tagged(server, directory, project.name, spark, project, begin(project, spark), {})
        tagged.days.update({name: [] for name in TAGGED})
        tagged.read_views()
        tagged.go_on(3)
        yield tagged
        spark.stop()


def begin(project: DbtProject, spark: PlainSpark) -> dict[str, list[list[Any]]]:
    """Merge two days, and give the versions tables; returns their rows."""
    project.write("macros/feed.sql", FEED)
    for name in TAGGED:
        text = MODEL.format(options=TABLES[name]) if name in TABLES else REBUILT
        project.write(f"models/{name}.sql", text)
        project.write(f"models/{name}_exact.sql", EXACT.format(name=name))
    with project.commands() as dbt:
        for day in (1, 2):
            dbt.succeed("build", "--vars", f"day: {day}")
        for name in TAGGED:
            dbt.succeed(
                "run-operation", "lakemerge_tag", "--args", f"{{table: {name}, tag: kept, as_table: true}}"
            )
    return {name: same(spark.sql(f"select * from {project.name}.{name}")) for name in TAGGED}


def test_a_tagged_version_is_read_while_its_table_goes_on(shown: Tagged, engine: Trino | Hive) -> None:
    days = (4, 5) if isinstance(engine, Trino) else (6, 7)
    seen: dict[str, list[list[list[Any]]]] = {name: [] for name in TAGGED}
    with ThreadPoolExecutor(1) as pool:
        going = pool.submit(shown.go_on, *days)
        while True:
            over = going.done()
            for name in TAGGED:
                found = same(engine.sql(f"select * from {shown.schema}.{name}__kept"))
                assert found == shown.rows[name], name
                seen[name].append(same(engine.sql(f"select * from {shown.schema}.{name}_exact")))
            if over:
                break
        going.result()
    for name in TAGGED:
        assert all(rows in shown.days[name] for rows in seen[name]), name
        assert seen[name][-1] == shown.days[name][-1]
        assert seen[name][-1] != seen[name][0], "it has gone on"
    for name in TAGGED:
        south = f"select id from {shown.schema}.{name}__kept where region = 'south'"
        assert len(engine.sql(south)) == sum("south" in row for row in shown.rows[name])
        now = same(engine.sql(f"select * from {shown.schema}.{name}"))
        assert now == same(shown.spark.sql(f"select * from {shown.schema}.{name}"))
        assert now != shown.rows[name]
