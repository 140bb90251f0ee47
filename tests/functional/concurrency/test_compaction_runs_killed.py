"""`lakemerge_compact` killed at each step of its commit: no row differs, it can run again, vacuum takes the rest."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from functional.concurrency.conftest import DbtCommands, DbtProject
from kernel.support import assert_nothing_orphaned
from lakemerge.kernel import CompactionLog, Jvm, Kernel, Manifest, TableName, ports_of

# A table of partitions of commits: each day adds one.
EVENTS = """
{{ config(materialized='incremental', incremental_strategy='append', append_layout='commit_partitioned',
          compaction='off') }}
select id, {{ var('day') }} as day from range({{ var('day') }} * 10, {{ var('day') }} * 10 + 10)
"""
# Each day changes half of the keys of the day before, deletes one, adds some, and moves rows to other partitions.
MASTER = """
{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id', sequence_by='day',
          apply_as_deletes="gone", except_column_list=['gone'], partition_by='part', write_mode='merge_on_read',
          compaction='off') }}
select id, {{ var('day') }} as day, id % 7 = {{ var('day') }} % 7 as gone, (id + {{ var('day') }}) % 3 as part
from range({{ var('day') }} * 10, {{ var('day') }} * 10 + 20)
"""
_MOVES = ("staged", "manifest written", "claimed", "registered", "swapped", "dropped", "settled")
#: The steps of each kind of compaction's commit: of partitions of commits that become one, of deltas that go into the
#: base, and of deltas that become one.
STEPS = {
    "events": _MOVES,
    "major": (*_MOVES[:-1], "deltas shown", "settled"),
    "minor": ("staged", "manifest written", "claimed", "side data published", "deltas shown", "settled"),
}
#: Until these, nothing of the commit stands.
BEFORE_CLAIM = ("staged", "manifest written")


class Compacted:
    """A project with one of the tables, days that are merged into it, and compactions that are killed.

    Args:
        kind: as of :data:`STEPS`.
    """

    def __init__(self, project: DbtProject, kind: str, kernel: Kernel, dbt: DbtCommands) -> None:
        self.project, self.kernel, self.dbt = project, kernel, dbt
        self.table = "events" if kind == "events" else "master"
        self.name = TableName(project.name, self.table)
        project.write(f"models/{self.table}.sql", EVENTS if kind == "events" else MASTER)
        given = {"select": self.table, **({} if kind == "events" else {"deltas": kind})}
        self._compact = ("run-operation", "lakemerge_compact", "--args", json.dumps(given))
        self._most_deltas = int(kind == "minor")
        self._day = 0

    def build(self, days: int) -> None:
        for _ in range(days):
            self._day += 1
            self.dbt.succeed("run", "--select", self.table, "--vars", f"day: {self._day}")

    def rows(self) -> list[list[Any]]:
        """All rows as any reader finds them; nothing is finished or mended for it.

        Without the partition column of events, the number of the newest commit whose rows lie together.
        """
        columns = "id, day" if self.table == "events" else "*"
        return sorted(self.dbt.rows(f"select {columns} from {self.project.name}.{self.table}"))

    def newest(self) -> Manifest:
        return self.kernel.settled(self.name)[1]

    def is_compact(self) -> bool:
        made = self.newest()
        if self.table == "events":
            return len(made.partitions) == 1
        return len(made.sidecars.get("deltas", ())) <= self._most_deltas

    def states(self) -> list[str]:
        """How the logged runs ended, the newest first."""
        return [record.state for record in CompactionLog(self.kernel, self.name).records()]

    def check_killed(self, step: str) -> None:
        """Two days more, and a compaction of them that is killed at a step."""
        self.build(2)
        before = self.rows()
        assert not self.is_compact()
        self.project.run_killed(*self._compact, at=step)
        assert self.rows() == before, "whoever reads finds all rows once"
        assert self.is_compact() == (step not in BEFORE_CLAIM), "a claimed commit stands, another does not"
        assert self.rows() == before
        assert self.states()[0] == "failed", "the log knows that its process died"
        self.dbt.succeed(*self._compact)
        assert self.is_compact()
        assert self.rows() == before
        assert len({row[0] for row in before}) == len(before) > 0, "no key is there twice"

    def check_vacuumed(self) -> None:
        """What the killed runs have left goes, and nothing else."""
        before = self.rows()
        self.dbt.succeed("run-operation", "lakemerge_recover", "--args", f"{{table: {self.table}}}")
        assert_nothing_orphaned(self.kernel, self.name)
        assert self.rows() == before


@pytest.fixture
def killed(
    dbt_project: Callable[[str], DbtProject], bare_gateway: None
) -> Iterator[Callable[..., Compacted]]:
    """Makes a :class:`Compacted` by its kind, with what reads it in one process that stays."""
    with ExitStack() as stack:

        def make(kind: str, *, schema: str) -> Compacted:
            project = dbt_project(schema)
            kernel = Kernel(ports_of(Jvm.launch(project.server.client_conf)))
            return Compacted(project, kind, kernel, stack.enter_context(project.commands(2)))

        yield make


@pytest.mark.slow
def test_deltas_on_their_way_into_the_base_are_there_once(killed: Callable[..., Compacted]) -> None:
    master = killed("major", schema="killed_once")
    master.build(1)
    master.check_killed("swapped")
    master.check_vacuumed()


@pytest.mark.slow
@pytest.mark.parametrize("kind", STEPS)
def test_no_row_is_lost_or_doubled_by_a_kill_at_any_step(killed: Callable[..., Compacted], kind: str) -> None:
    compacted = killed(kind, schema=f"killed_{kind}")
    compacted.build(1)
    for step in STEPS[kind]:
        compacted.check_killed(step)
    compacted.check_vacuumed()
