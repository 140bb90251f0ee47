"""How an engine that plans a query finds a table's files, while others are at work."""

from __future__ import annotations

import random

from lakemerge.kernel import HiveTable, Manifest, TableName
from lakemerge.kernel.table.definition import TABLE_ID
from lakemerge.kernel.table.overlay import DELTAS, FOLDED, MADE_BY, is_overlay_view, shown_version
from simulation.checker import Checker
from simulation.places import Places
from simulation.scheduler import Process
from simulation.watched import WatchedMetastore


def look(
    metastore: WatchedMetastore, process: Process, dice: random.Random, name: TableName
) -> Places | None:
    """Where a reader finds the files of a table, and the deltas that its view has told it to merge with them.

    It reads the view's text, then asks for the base's partitions, and for the deltas twice, because the text has them
    twice. ``None`` where there is no table, or where what it finds is not promised.
    """
    view = metastore.get_table(name)
    if view is None or not is_overlay_view(view):
        return metastore.locations(name)
    if metastore.base_of(view) is None:
        return None  # it is being dropped
    metastore.named_deltas(view)  # at the moment at which the text is read, they all are there
    process.go_on(dice.choice((0.0, 0.0, 0.1, 5.0)))
    base = metastore.base_places(metastore.base_of(view))
    process.go_on(dice.choice((0.0, 0.0, 0.1)))
    if base is None or _is_too_late(metastore.checker, view):
        return None
    deltas = metastore.named_deltas(view)
    process.go_on(dice.choice((0.0, 0.0, 0.1)))
    if _is_too_late(metastore.checker, view) or metastore.named_deltas(view) != deltas:
        return None
    return Places(base, list(deltas.values()))


def _is_too_late(checker: Checker, view: HiveTable) -> bool:
    """Whether the view's text may be too old for what its reader has found since.

    That is so if the base holds a delta that came after the text, if deltas that it names were taken away (which waits
    for ten minutes outside of simulations), and if the view was.
    """
    commits = [one.manifest for one in checker.commits if one.table_id == view.parameters[TABLE_ID]]
    newest = commits[-1]
    if newest.overlay is None or newest.overlay.made_by != view.parameters[MADE_BY] or checker.dropped:
        return True
    before = [one for one in commits if one.version <= shown_version(view)]
    known = {folder for one in before for folder in (*_folders(one, DELTAS), *_folders(one, FOLDED))}
    folded = {folder for one in commits for folder in _folders(one, FOLDED)}
    named = set(_folders(before[-1], DELTAS))
    return not folded <= known or not named <= {*_folders(newest, DELTAS), *_folders(newest, FOLDED)}


def _folders(manifest: Manifest, kind: str) -> tuple[str, ...]:
    return manifest.sidecars.get(kind, ())
