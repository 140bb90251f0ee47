"""A warehouse that cannot be written, and full disks of an embedded metastore and of Spark's temporary files."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Any

import pytest

from functional.concurrency.small_disks import WITHOUT_OVERRIDE, Disk, SmallDisks
from small_spark import JAVA_OPTIONS

# Each run that succeeds stores the next day.
MODEL = """
{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id', sequence_by='ts',
          partition_by='part', write_mode='%s') }}
{%% set day = '(select max(ts) + 1 from ' ~ this ~ ')' if is_incremental() else '1' %%}
select id, {{ day }} as ts, id %% 3 as part, repeat(uuid(), 20) as filler from range(300)
"""
MODES = {"rewritten": "copy_on_write", "beside": "merge_on_read"}
FULL = "No space left on device"
COMPACT = "lakemerge_compact", "{select: 'SCHEMA.*'}"
VACUUM = (
    "lakemerge_vacuum",
    "{select: 'SCHEMA.*', dry_run: false, retention_hours: 0.0001, allow_short_retention: true}",
)
# By name: what keeps the warehouse from being written, and what a message says of it.
Hindrance = tuple[Callable[[Disk], AbstractContextManager[None]], str]
HINDRANCES: dict[str, Hindrance] = {
    "full": (lambda disk: disk.filled(), FULL),
    "a file is left": (lambda disk: disk.filled(65536), FULL),
    "no inodes": (lambda disk: disk.without_inodes(), FULL),
    "read only": (lambda disk: disk.read_only(), "Read-only file system|refused"),
    "no rights": (lambda disk: disk.without_rights(), "Permission denied|AccessDenied|refused"),
}


class Tables:
    """The two tables of a project, and the day that each has.

    Args:
        project: gets their models.
    """

    def __init__(self, project: Any) -> None:
        self._project = project
        self.days = dict.fromkeys(MODES, 0)
        for table, mode in MODES.items():
            project.write(f"models/{table}.sql", MODEL % mode)

    def run(self, dbt: Any) -> dict[str, str]:
        """Merge the next day; returns the messages of the tables that were not written."""
        answer = dbt("run")
        failed: dict[str, str] = answer["failed"]
        if not answer["success"] and not failed:
            failed = dict.fromkeys(MODES, answer["message"])  # no model was run
        # a commit that stands is finished by the next one
        stored = {table for table in MODES if table not in failed or "CommitUnfinished" in failed[table]}
        self.days = {table: day + (table in stored) for table, day in self.days.items()}
        return failed

    def operate(self, dbt: Any, operation: tuple[str, str]) -> str:
        """Run an operation; returns its message, which is empty if it succeeded."""
        name, arguments = operation
        arguments = arguments.replace("SCHEMA", self._project.name)
        return str(dbt("run-operation", name, "--args", arguments)["message"])

    def check(self, dbt: Any) -> None:
        """Each table has all rows of the last run that has written it, and no others."""
        figures = "count(*) as n, count(distinct id) as k, min(ts) as low, max(ts) as high"
        query = " union all ".join(
            f"select '{table}' as name, {figures} from {{{{ ref('{table}') }}}}" for table in MODES
        )
        found = {row[0]: tuple(map(int, row[1:])) for row in dbt.rows(query)}
        assert found == {table: (300, 300, day, day) for table, day in self.days.items()}


def require_named(messages: Iterable[str], said: str, disk: Disk) -> None:
    """Each message has a text, and names the disk."""
    for message in messages:
        assert re.search(said, message), message
        assert str(disk.folder) in message


@pytest.mark.slow
def test_a_full_warehouse(dbt_project: Callable[..., Any], small_disks: SmallDisks) -> None:
    disk = small_disks.make("disk", "16m")
    project = dbt_project("full", None, disk.folder)
    tables = Tables(project)
    with project.commands() as dbt:
        assert not tables.run(dbt)
        with disk.filled():
            failed = tables.run(dbt)
        assert set(failed) == set(MODES)
        require_named(failed.values(), FULL, disk)
        assert not tables.run(dbt)
        tables.check(dbt)


@pytest.mark.slow
def test_a_warehouse_that_cannot_be_written(dbt_project: Callable[..., Any], small_disks: SmallDisks) -> None:
    if not shutil.which(WITHOUT_OVERRIDE[0]):
        pytest.skip(f"{WITHOUT_OVERRIDE[0]} is not installed, without which root has all rights")
    disk = small_disks.make("disk", "24m")
    project = dbt_project("hindered", None, disk.folder)
    tables = Tables(project)
    hindered = dict.fromkeys(HINDRANCES, 0)
    with project.commands(under=WITHOUT_OVERRIDE) as dbt:
        assert not tables.run(dbt)
        for name, (hinder, said) in HINDRANCES.items():
            # also leaves a delta to compact
            assert not tables.run(dbt)
            with hinder(disk):
                messages = [
                    *tables.run(dbt).values(),
                    tables.operate(dbt, COMPACT),
                    tables.operate(dbt, VACUUM),
                ]
                tables.check(dbt)
            found = [message for message in messages if message]
            hindered[name] += len(found)
            require_named(found, said, disk)
        assert not tables.run(dbt)
        tables.check(dbt)
    assert all(hindered.values()), hindered


@pytest.mark.slow
@pytest.mark.parametrize("setting", ["spark.local.dir", "java.io.tmpdir"])
def test_a_full_disk_of_temporary_files(
    dbt_project: Callable[..., Any], small_disks: SmallDisks, setting: str
) -> None:
    disk = small_disks.make("tmp", "16m")
    settings = {
        "spark.driver.extraJavaOptions": JAVA_OPTIONS,
        # joins write temporary files
        "spark.sql.autoBroadcastJoinThreshold": "-1",
    }
    if setting == "spark.local.dir":
        settings[setting] = str(disk.folder)
    else:
        settings["spark.driver.extraJavaOptions"] += f" -Djava.io.tmpdir={disk.folder}"
    project = dbt_project(setting.replace(".", "_"), settings)
    tables = Tables(project)
    with project.commands() as dbt:
        assert not tables.run(dbt)
        with disk.filled():
            failed = tables.run(dbt)
        assert failed
        require_named(failed.values(), FULL, disk)
        assert not tables.run(dbt)
        tables.check(dbt)


@pytest.mark.slow
def test_a_full_disk_of_an_embedded_metastore(
    dbt_project: Callable[..., Any], small_disks: SmallDisks
) -> None:
    disk = small_disks.make("metastore", "64m")
    derby = f"jdbc:derby:;databaseName={disk.folder}/db;create=true"
    # Derby takes the space of its log beforehand: as little as it can
    options = f"{JAVA_OPTIONS} -Dderby.storage.logSwitchInterval=100000"
    project = dbt_project(
        "full_metastore",
        {"spark.hadoop.javax.jdo.option.ConnectionURL": derby, "spark.driver.extraJavaOptions": options},
    )
    profile = json.loads((project.root / "profiles.yml").read_text())
    profile[project.name]["outputs"]["dev"]["metastore"] = "embedded"
    project.write("profiles.yml", json.dumps(profile))
    tables = Tables(project)
    with project.commands() as dbt:
        assert not tables.run(dbt)
        # more than there is room for in the log
        columns = ", ".join(f"{number} as column_{number}_of_a_wide_table" for number in range(1000))
        project.write("models/wide.sql", f"select {columns}")
        project.write("models/wide.yml", "models: [{name: wide, config: {materialized: table}}]")
        with disk.filled():
            first, later = tables.run(dbt), tables.run(dbt)
    assert "wide" in first
    assert set(later) >= set(MODES)
    require_named([*first.values(), *later.values()], ".", disk)
    with project.commands() as dbt:
        assert not tables.run(dbt)
        tables.check(dbt)
