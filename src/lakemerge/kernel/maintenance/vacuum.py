"""Vacuum: frees the files that no version needs any more."""

from __future__ import annotations

import contextlib
import datetime
import logging
import math
from collections.abc import Iterator

from lakemerge.errors import CommitConflict, CorruptTable, InvalidConfig
from lakemerge.kernel.commit.retiring import retire_unread
from lakemerge.kernel.external.late import Superseded, written_at
from lakemerge.kernel.kernel import Kernel
from lakemerge.kernel.maintenance.garbage import Garbage, find_garbage
from lakemerge.kernel.maintenance.idle import Idle, txn_of
from lakemerge.kernel.maintenance.kept_versions import KnownVersions
from lakemerge.kernel.maintenance.pins import keepers, oldest_pinned
from lakemerge.kernel.ports.names import TableName
from lakemerge.kernel.ports.system import from_milliseconds
from lakemerge.kernel.protocol.versions import LostRace
from lakemerge.kernel.table.definition import TABLE_ID, check_supported
from lakemerge.kernel.table.layout import Layout, normal
from lakemerge.kernel.table.manifest import FENCE, Manifest
from lakemerge.kernel.table.manifests import keep_state, read_commit, read_manifest
from lakemerge.kernel.table.overlay import FOLDED, find_row
from lakemerge.kernel.table.state import TableState

_LOG = logging.getLogger("lakemerge")

DEFAULT_RETENTION = datetime.timedelta(days=7)
#: Queries, other programs' statements and calls to the metastore are expected to end within this time. A shorter
#: retention may delete files that they still need.
SHORTEST_RETENTION = datetime.timedelta(days=1)


def vacuum(
    kernel: Kernel,
    name: TableName,
    *,
    retention: datetime.timedelta = DEFAULT_RETENTION,
    retain_last: int = 1,
    max_bytes: int | None = None,
    dry_run: bool = True,
    allow_short_retention: bool = False,
) -> list[Garbage]:
    """Free the files that no kept version needs.

    These versions are kept: the newest ``retain_last``; every one that was still the newest at some moment of the
    retention time, which must outlive the longest query; every one that a consumer has not got past yet; and every one
    that a reference names.

    Three things are left alone: open transactions, what lies outside the table's root, and every superseded directory
    that another program has written into since. The last happens when an INSERT was planned before a commit and ends
    after it: what it added is taken in as a version of its own, and the next vacuum may delete the directory. Deltas
    that the base has held for a long time are removed first, by a version of its own too.

    Args:
        max_bytes: end when this many bytes are freed, and leave the rest to the next vacuum; ``None`` for no limit.
        dry_run: only return what would be deleted; changes nothing.
        allow_short_retention: whether ``retention`` may be below :data:`SHORTEST_RETENTION`, because nobody needs what
            is that old.

    Returns:
        What is (or would be) deleted: data before manifests, so that the next vacuum still knows what a limit left.

    Raises:
        InvalidConfig: the retention time is negative, or too short.
    """
    if retention < SHORTEST_RETENTION and not allow_short_retention:
        raise _too_short(retention)
    kept_for = _milliseconds(retention)
    if dry_run:
        return _foreseen(kernel, name, kept_for, retain_last, max_bytes)
    kernel.drops.finish(name)
    _retire(kernel, name)
    # listed before the versions are read, so that what is idle here belongs to one of these versions or to none
    idle = Idle.read(kernel, kernel.open(name).layout)
    state, newest = kernel.settled(name)
    # a time from before the fence: the fence does not name transactions that grow old while it is made
    begun = _now(kernel, state.layout)
    versions, aged_by = KnownVersions.read(kernel, state, newest, from_milliseconds(begun)), begun - kept_for
    dead = _dead(kernel, versions, idle, aged_by)
    if dead:
        if not _fence_off(kernel, name, dead):
            return []
        versions = KnownVersions.read(kernel, *kernel.settled(name), from_milliseconds(begun))
    _mark_seen(kernel, versions.state)
    # a time from after the newest version was read: only by then is the one before it surely hidden
    now = _now(kernel, versions.state.layout)
    if not _close_creations(kernel, versions.state, idle, aged_by):
        return []
    pointed = kernel.retried(lambda: _pointed(kernel, name), LostRace, first=0.01, longest=0.5)
    oldest = _oldest_kept(kernel, versions, now, kept_for, retain_last)
    kept = versions.kept_from(oldest)
    late: list[Superseded] = []
    garbage = _within(find_garbage(kernel, versions, idle, kept, aged_by, late, pointed), max_bytes)
    _keep_states(kernel, versions.state.layout, _remaining(versions, garbage))
    for item in garbage:
        kernel.files.delete(item.path)
    _LOG.info("%s: vacuum freed %d bytes", name, sum(item.size for item in garbage))
    kernel.late.take_in(name, late)
    return garbage


def held_by(kernel: Kernel, name: TableName) -> list[str]:
    """What keeps versions of a table from a vacuum, whatever its retention time: pins of consumers, and tags."""
    state = kernel.current_state(name)
    if state is None:
        return []
    references = (f"the tag {one}" for one in sorted(kernel.manifest(state).references))
    return [*keepers(kernel.files, state.layout, kernel.clock.now()), *references]


def _foreseen(
    kernel: Kernel, name: TableName, retention: int, retain_last: int, max_bytes: int | None
) -> list[Garbage]:
    """What a vacuum would delete, found without changing anything.

    It goes by this machine's clock, because the file system's time is that of a file which is written. What a dead
    writer's commit, other programs' work and deltas that the base holds would free is not among it: a vacuum finishes
    these first.
    """
    current = kernel.current(name)
    check_supported(current.table)
    if current.state is None or current.manifest is None or current.state.is_reserved:
        return []
    state = current.state
    current.manifest.require_writer(str(name))
    now = int(kernel.clock.now().timestamp() * 1000)
    idle = Idle.read(kernel, state.layout, now=now, claim=state.claim)
    versions = KnownVersions.read(kernel, state, current.manifest, from_milliseconds(now))
    pointed = {normal(state.table.location)}
    if state.table.partitioned:
        pointed = set(kernel.external.locations(state.table).values())
    kept = versions.kept_from(_oldest_kept(kernel, versions, now, retention, retain_last))
    return _within(find_garbage(kernel, versions, idle, kept, now - retention, [], pointed), max_bytes)


def _within(garbage: Iterator[Garbage], max_bytes: int | None) -> list[Garbage]:
    """The first items until they have this many bytes; all are looked at, because that also finds late files."""
    found, size = [], 0
    for item in garbage:
        if max_bytes is None or size < max_bytes:
            found.append(item)
            size += item.size
    return found


def _remaining(versions: KnownVersions, garbage: list[Garbage]) -> list[Manifest]:
    """The versions whose manifests stay: those that are kept, too young, or left to the next vacuum."""
    deleted, layout = {normal(item.path) for item in garbage}, versions.state.layout
    return [one for one in versions if normal(layout.manifest_of(one.txn)) not in deleted]


def _keep_states(kernel: Kernel, layout: Layout, kept: list[Manifest]) -> None:
    """Write down whole states of versions, before the manifests are deleted that theirs are the difference to."""
    there = {manifest.txn for manifest in kept}
    for manifest in kept:
        alone = manifest.delta is not None and manifest.parent not in there
        if alone and not kernel.files.exists(layout.state_of(manifest.txn)):
            keep_state(kernel.files, layout, read_manifest(kernel.files, layout, manifest.txn))


def _oldest_kept(kernel: Kernel, versions: KnownVersions, now: int, retention: int, retain_last: int) -> int:
    """The number of the oldest version that stays, and all after it, besides those that a reference names.

    Args:
        now, retention: in milliseconds, ``now`` by the file system's clock.
    """
    oldest = min(
        oldest_pinned(kernel.files, versions.state.layout, from_milliseconds(now)),
        versions.newest.version - max(retain_last, 1) + 1,
    )
    for manifest, hidden_since in _with_ends(kernel, versions, now):
        if hidden_since > now - retention:
            oldest = min(oldest, manifest.version)
    return oldest


def _dead(kernel: Kernel, versions: KnownVersions, idle: Idle, oldest: int) -> set[str]:
    """The transactions that never committed, and whose files are about to be deleted."""
    layout = versions.state.layout
    known = versions.transactions
    dead = {txn for txn in idle.with_content() - known if idle.last_written(txn) <= oldest}
    # a transaction that only removes partitions, or sets parameters, leaves no more than a manifest
    for entry in idle.entries[layout.commits]:
        txn = txn_of(entry)
        alone = (
            txn not in known
            and txn not in dead
            and f"{layout.commits}/{entry.name}" == layout.manifest_of(txn)
        )
        if alone and idle.last_written(txn) <= oldest and _is_next(kernel, versions.state, txn):
            dead.add(txn)
    return dead


def _is_next(kernel: Kernel, state: TableState, txn: str) -> bool:
    """Whether a manifest may be claimed as it is; a writer whose manifest is of another version makes a new one."""
    try:
        return read_commit(kernel.files, state.layout, txn).version > state.version
    except CorruptTable:
        return False


def _fence_off(kernel: Kernel, name: TableName, dead: set[str]) -> bool:
    """Make a version that names transactions which were taken for dead.

    If one of them wakes up now, it can no longer claim a later version; one that was faster is in the lineage by then.

    Returns:
        Whether all of them are fenced off; false where the table has got other columns in this moment.
    """
    try:
        with kernel.begin(name, FENCE) as fence:
            fence.fence(dead)
            fence.commit()
    except CommitConflict:
        return False
    return True


def _retire(kernel: Kernel, name: TableName) -> None:
    """Make a version without the deltas that the base has held for a long time, if there are any."""
    if not kernel.settled(name)[1].sidecars.get(FOLDED):
        return
    with (
        contextlib.suppress(CommitConflict),
        kernel.begin(name, FENCE, data_change=False) as transaction,
    ):
        if retire_unread(transaction):  # otherwise, or if another commit comes first, the next vacuum does it
            transaction.commit()


def _close_creations(kernel: Kernel, state: TableState, idle: Idle, oldest: int) -> bool:
    """Keep transactions that began to make the table, and are taken for dead, from making the next table of its name.

    Returns:
        Whether the table is still this one, so that the next one of its name is yet to be made.
    """
    sleeping = [entry.name for entry in idle.entries[state.layout.creations] if entry.modified <= oldest]
    kernel.creations.close(state.layout, sleeping)
    row = find_row(kernel.metastore, state.name) if sleeping else state.table
    return row is not None and row.parameters.get(TABLE_ID) == state.table_id


def _pointed(kernel: Kernel, name: TableName) -> set[str]:
    """Where the metastore says that a table's partitions are: readers look there, whatever the versions say.

    What calls that came too late have done is put right first.
    """
    state, manifest = kernel.settled(name)
    if not state.table.partitioned:
        return {normal(state.table.location)}
    kernel.roll_forward.put_right(state)
    found = kernel.external.locations(state.table)
    places = {part: normal(state.layout.absolute(one.location)) for part, one in manifest.partitions.items()}
    astray = sorted(part for part, place in found.items() if place != places.get(part))
    if astray:
        kernel.roll_forward.repairs.repair(state, astray)
        found = {part: place for part, place in found.items() if part not in astray}
        found.update(kernel.external.locations(state.table, astray))
    return set(found.values())


def _now(kernel: Kernel, layout: Layout) -> int:
    """The file system's time, in milliseconds."""
    return kernel.files.now(layout.commits)


def _too_short(retention: datetime.timedelta) -> InvalidConfig:
    hours = SHORTEST_RETENTION.total_seconds() / 3600
    return InvalidConfig(
        expected=f"a retention time of {hours:.0f} hours or more, which outlasts every query, statement and call",
        found=str(retention),
        action="Keep more. If you are sure that nothing which began before that is still at work, allow it: "
        "allow_short_retention=True.",
    )


def _milliseconds(retention: datetime.timedelta) -> int:
    if retention < datetime.timedelta(0):
        raise InvalidConfig(
            expected="a retention time of 0 or more",
            found=str(retention),
            action="Choose one that outlives the longest query.",
        )
    return int(retention.total_seconds() * 1000)


def _mark_seen(kernel: Kernel, state: TableState) -> None:
    """Leave a file whose time shows by when the newest version was settled, and the one before it hidden."""
    path = state.layout.seen_of(state.txn)
    if not kernel.files.exists(path):
        kernel.files.write_text(path, "")


def _with_ends(kernel: Kernel, versions: KnownVersions, now: int) -> Iterator[tuple[Manifest, float]]:
    """The versions, the newest first, each with a time by which readers surely did not find it any more.

    The times are the file system's, in milliseconds, because a writer's clock may be wrong. Any time may pass between a
    claim and its swap, but a version is hidden at the latest when the manifest of the version after the next is
    written: its writer has found the next version settled. For the version before the newest, the mark of the newest
    gives this time; without a mark it is now.
    """
    layout = versions.state.layout
    written = written_at(kernel.files, layout)
    seen = {entry.name: entry.modified for entry in kernel.files.list(layout.seen)}
    hidden_since = math.inf
    settled_by = float(seen.get(versions.state.txn, now))
    for manifest in versions.chain:
        yield manifest, hidden_since
        # a manifest may be deleted at this moment: by another vacuum, because it is old, or with the table
        hidden_since, settled_by = settled_by, float(written.get(manifest.txn, 0))
