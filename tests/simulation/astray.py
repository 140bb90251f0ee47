"""Partitions that are not where the newest version has them, because a call came late; and what readers find there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakemerge.kernel import HiveTable, Manifest
from lakemerge.kernel.ports.names import partition_name
from lakemerge.kernel.table.definition import ROOT, TABLE_ID, VERSION
from lakemerge.kernel.table.layout import Layout, normal
from lakemerge.kernel.table.manifest import RELEASE
from simulation.intents import Violation
from simulation.places import Places, rows_of

if TYPE_CHECKING:
    from simulation.checker import Checker, Commit
    from simulation.watched import WatchedMetastore


def astray(metastore: WatchedMetastore, table: HiveTable) -> dict[str, str | None]:
    """The partitions of a table that a late call has moved, added or dropped, each with where it is, if anywhere.

    While a version is claimed, a partition may be where that version has it, where the one before has it, or empty on
    its way. It is astray all the same if a late call has put it back to where the one before has it.
    """
    commits = [one for one in metastore.checker.commits if one.table_id == table.parameters.get(TABLE_ID)]
    if not commits or not table.partitioned:
        return {}
    layout, newest = Layout(table.parameters[ROOT]), commits[-1]
    settled = ":" not in table.parameters[VERSION]
    wanted = _places(layout, newest)
    before = {} if settled or len(commits) < 2 else _places(layout, commits[-2])
    passing = set() if settled else {normal(layout.empty_of(txn)) for txn in _at_work(newest.manifest)}
    columns = [column.name for column in table.partition_columns]
    rows = metastore.partitions(table.name, metastore.partition_names(table.name))
    found = {partition_name(columns, row.values): normal(row.location) for row in rows}
    late = {name for one, name in metastore.late_moves if one == table.name}
    wrong: dict[str, str | None] = {
        name: place
        for name, place in found.items()
        if place != wanted.get(name)
        and (name in late or (place != before.get(name) and place not in passing))
    }
    dropped = {name for one, name in metastore.late_drops if one == table.name}
    expected = wanted.keys() if settled else wanted.keys() & (before.keys() | dropped)
    return {**wrong, **dict.fromkeys(expected - found.keys())}


def _at_work(manifest: Manifest) -> tuple[str, ...]:
    """The transactions whose empty directories partitions point to while a version is claimed."""
    return (manifest.txn, *(manifest.fenced if manifest.operation == RELEASE else ()))


def _places(layout: Layout, commit: Commit) -> dict[str, str]:
    return {
        name: normal(layout.absolute(state.location)) for name, state in commit.manifest.partitions.items()
    }


def judge(checker: Checker, places: Places, commits: list[Commit], who: str) -> None:
    """Hold what a reader finds beside partitions that are astray against what is promised.

    The others are of one version. One that is astray shows rows that it once had; or none, when nobody is pointed to
    its files any more.

    Args:
        commits: of which the reader may see any.

    Raises:
        Violation: it finds anything else.
    """
    away = {place for place in places.astray.values() if place is not None}
    rows = rows_of(checker.files, [place for place in places.base if normal(place) not in away])
    known = [_without(checker, commit, places) for commit in commits]
    if rows not in known:
        raise Violation(f"{who} read {rows} beside {sorted(places.astray)}, which came late: of no version")
    for name, place in places.astray.items():
        shown = rows_of(checker.files, [place]) if place is not None else []
        if shown and shown not in checker.rows_at(place or ""):
            raise Violation(f"{who} read {shown} in {name}, which came late: no version has had that")
        if not shown and place is not None and any(checker.rows_at(place)) and _is_pointed_to(checker, place):
            raise Violation(f"{who} finds the files of {name} gone, which came late: readers are led there")


def _without(checker: Checker, commit: Commit, places: Places) -> list[str]:
    """The rows of a version without those of partitions that are astray."""
    return sorted(
        row for name, rows in checker.parts_of(commit).items() if name not in places.astray for row in rows
    )


def _is_pointed_to(checker: Checker, place: str) -> bool:
    metastore = checker.metastore
    assert metastore is not None
    return any(
        normal(row.location) == place
        for name in metastore.names()
        if (table := metastore.get_table(name)) is not None and table.partitioned
        for row in metastore.partitions(name, metastore.partition_names(name))
    )
