"""Vacuum: frees the files that no version needs any more."""

from __future__ import annotations

import contextlib
import datetime
import logging
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from lakemerge.errors import CommitConflict, CorruptTable, InvalidConfig, TableTooNew
from lakemerge.kernel.commit.retiring import retire_unread
from lakemerge.kernel.external.late import Superseded, superseded, written_at
from lakemerge.kernel.kernel import Kernel
from lakemerge.kernel.maintenance.pins import oldest_pinned
from lakemerge.kernel.ports.filesystem import FileEntry
from lakemerge.kernel.ports.names import TableName
from lakemerge.kernel.ports.system import from_milliseconds
from lakemerge.kernel.protocol.versions import LostRace
from lakemerge.kernel.table.definition import TABLE_ID
from lakemerge.kernel.table.layout import SIDECARS, Layout, normal
from lakemerge.kernel.table.manifest import FENCE, FOREIGN, Manifest
from lakemerge.kernel.table.manifests import keep_state, lineage, read_commit
from lakemerge.kernel.table.overlay import FOLDED, find_row
from lakemerge.kernel.table.state import TableState

_LOG = logging.getLogger("lakemerge")

DEFAULT_RETENTION = datetime.timedelta(days=7)


@dataclass(frozen=True)
class Garbage:
    """Something that no kept version needs: a URI, its size in bytes, and why it can go."""

    path: str
    size: int
    reason: str


def vacuum(
    kernel: Kernel,
    name: TableName,
    *,
    retention: datetime.timedelta = DEFAULT_RETENTION,
    retain_last: int = 1,
    max_bytes: int | None = None,
    dry_run: bool = True,
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
        dry_run: only return what would be deleted.

    Returns:
        What is (or would be) deleted: data before manifests, so that the next vacuum still knows what a limit left.

    Raises:
        InvalidConfig: the retention time is negative.
    """
    kept_for = _milliseconds(retention)
    kernel.drops.finish(name)
    if not dry_run:
        _retire(kernel, name)
    # listed before the versions are read, so that what is idle here belongs to one of these versions or to none
    idle = _idle(kernel, kernel.open(name).layout)
    versions = _Versions.read(kernel, name)
    # a time from before the fence: the fence does not name transactions that grow old while it is made
    aged_by = _now(kernel, versions.state.layout) - kept_for
    if not dry_run:
        dead = _dead(kernel, versions, idle, aged_by)
        if dead:
            if not _fence_off(kernel, name, dead):
                return []
            versions = _Versions.read(kernel, name)
        _mark_seen(kernel, versions.state)
    state = versions.state
    # a time from after the newest version was read: only by then is the one before it surely hidden
    now = _now(kernel, state.layout)
    if not dry_run and not _close_creations(kernel, state, idle, aged_by):
        return []
    pointed: set[str] = set()
    if not dry_run:
        pointed = kernel.retried(lambda: _pointed(kernel, name), LostRace, first=0.01, longest=0.5)
    pinned = oldest_pinned(kernel.files, state.layout, from_milliseconds(now))
    pinned = min(pinned, versions.chain[0].version - max(retain_last, 1) + 1)
    kept: list[Manifest] = list(versions.aside)
    expired: list[Manifest] = []
    for manifest, hidden_since in _with_ends(kernel, versions, now):
        lately = hidden_since > now - kept_for
        needed = lately or manifest.version >= pinned or manifest.txn in versions.named
        (kept if needed else expired).append(manifest)
    late: list[Superseded] = []
    garbage = _within(_garbage(kernel, state, idle, kept, expired, aged_by, late, pointed), max_bytes)
    if not dry_run:
        _keep_states(kernel, state.layout, [*kept, *_ways_to(late, expired)])
        for item in garbage:
            kernel.files.delete(item.path)
        _LOG.info("%s: vacuum freed %d bytes", name, sum(item.size for item in garbage))
        kernel.late.take_in(name, late)
    return garbage


@dataclass(frozen=True)
class _Versions:
    """The versions of a table that still exist.

    Attributes:
        state: the newest one's.
        chain: those that led to it, the newest first.
        aside: older ones that a reference names; the versions between them and the chain are vacuumed.
        named: the transactions of all versions that a reference names.
    """

    state: TableState
    chain: tuple[Manifest, ...]
    aside: tuple[Manifest, ...]
    named: frozenset[str]

    @classmethod
    def read(cls, kernel: Kernel, name: TableName) -> _Versions:
        state, newest = kernel.settled(name)
        chain = tuple(lineage(kernel.files, state.layout, newest))
        named = frozenset(newest.references.values())
        missing = sorted(named - {manifest.txn for manifest in chain})
        return cls(state, chain, tuple(_still_there(kernel, state, missing)), named)

    def __iter__(self) -> Iterator[Manifest]:
        yield from self.chain
        yield from self.aside


def _still_there(kernel: Kernel, state: TableState, txns: Iterable[str]) -> Iterator[Manifest]:
    """The versions of these transactions; one that is gone is logged: it got its name while a vacuum was at work."""
    for txn in txns:
        try:
            yield kernel.manifest(state, txn)
        except CorruptTable:
            _LOG.warning("%s: a named version (transaction %s) is gone", state.name, txn)


def _within(garbage: Iterator[Garbage], max_bytes: int | None) -> list[Garbage]:
    """The first items until they have this many bytes; all are looked at, because that also finds late files."""
    found, size = [], 0
    for item in garbage:
        if max_bytes is None or size < max_bytes:
            found.append(item)
            size += item.size
    return found


def _keep_states(kernel: Kernel, layout: Layout, kept: list[Manifest]) -> None:
    """Write down whole states of versions, before the manifests are deleted that theirs are the difference to."""
    there = {manifest.txn for manifest in kept}
    for manifest in kept:
        alone = manifest.delta is not None and manifest.parent not in there
        if alone and not kernel.files.exists(layout.state_of(manifest.txn)):
            keep_state(kernel.files, layout, manifest)


def _dead(kernel: Kernel, versions: _Versions, idle: dict[str, list[FileEntry]], oldest: int) -> set[str]:
    """The transactions that never committed, and whose files are about to be deleted."""
    layout = versions.state.layout
    known = {manifest.txn for manifest in versions}
    known |= {_transaction_of(layout, place) for manifest in versions for place in _places(layout, manifest)}
    entries = [entry for folder in _content(layout) for entry in idle[folder] if entry.is_directory]
    dead = {entry.name for entry in entries if entry.modified <= oldest} - known
    # a transaction that only removes partitions, or sets parameters, leaves no more than a manifest
    for entry in idle[layout.commits]:
        txn = _txn_of(entry)
        alone = txn not in known | dead and f"{layout.commits}/{entry.name}" == layout.manifest_of(txn)
        if alone and entry.modified <= oldest and _is_next(kernel, versions.state, txn):
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


def _close_creations(
    kernel: Kernel, state: TableState, idle: dict[str, list[FileEntry]], oldest: int
) -> bool:
    """Keep transactions that began to make the table, and are taken for dead, from making the next table of its name.

    Returns:
        Whether the table is still this one, so that the next one of its name is yet to be made.
    """
    sleeping = [entry.name for entry in idle[state.layout.creations] if entry.modified <= oldest]
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


def _milliseconds(retention: datetime.timedelta) -> int:
    if retention < datetime.timedelta(0):
        raise InvalidConfig(
            expected="a retention time of 0 or more",
            found=str(retention),
            action="Choose one that outlives the longest query.",
        )
    return int(retention.total_seconds() * 1000)


def _places(layout: Layout, manifest: Manifest) -> Iterator[str]:
    """The places of all that a version consists of: its partitions and its side data."""
    yield from (normal(layout.absolute(entry.location)) for entry in manifest.partitions.values())
    yield from (normal(layout.absolute(path)) for paths in manifest.sidecars.values() for path in paths)


def _transaction_of(layout: Layout, place: str) -> str:
    """The transaction in whose directory something lies, such as ``…/data/<txn>/p=1``; empty where it is nobody's."""
    for folder in _content(layout):
        _, below, rest = place.partition(f"{normal(folder)}/")
        if below:
            return rest.partition("/")[0]
    return ""


def _mark_seen(kernel: Kernel, state: TableState) -> None:
    """Leave a file whose time shows by when the newest version was settled, and the one before it hidden."""
    path = state.layout.seen_of(state.txn)
    if not kernel.files.exists(path):
        kernel.files.write_text(path, "")


def _with_ends(kernel: Kernel, versions: _Versions, now: int) -> Iterator[tuple[Manifest, float]]:
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


def _garbage(
    kernel: Kernel,
    state: TableState,
    idle: dict[str, list[FileEntry]],
    kept: list[Manifest],
    expired: list[Manifest],
    oldest: int,
    late: list[Superseded],
    pointed: set[str],
) -> Iterator[Garbage]:
    """
    Args:
        pointed: where the metastore says that partitions are, whatever the versions say.
        oldest: unreferenced files from before this time may be deleted; in the file system's milliseconds.
        late: the directories that have to stay because another program has written into them are added here.
    """
    layout = state.layout
    live = pointed | {place for manifest in kept for place in _places(layout, manifest)}
    committed = {manifest.txn for manifest in kept}
    chain = sorted((*kept, *expired), key=lambda manifest: -manifest.version)
    places = {
        normal(place.location): place
        for place in superseded(layout, chain)
        if place.by.parent
        == place.before.txn  # not so beside a version that a reference names: its neighbours may be gone
    }
    written = written_at(kernel.files, layout)
    if state.table.kind != "EXTERNAL_TABLE":  # an external table's files may be of use to somebody else
        forgotten = _forgotten(
            kernel, state, idle, committed | {manifest.txn for manifest in expired}, oldest
        )
        yield from _superseded_originals(kernel, layout, live, [*expired, *forgotten])
    in_chain = committed | {manifest.txn for manifest in expired}
    for entry in (entry for folder in _content(layout) for entry in idle[folder]):
        # not in the chain and young: a transaction that died recently, or one that is about to claim
        if not entry.is_directory or (entry.name not in in_chain and entry.modified > oldest):
            continue
        reason = "superseded" if entry.name in in_chain else "left by a transaction that never committed"
        for item in _dead_parts(kernel, entry.path, live, reason):
            foul = [place for place in _below(item.path, places) if kernel.late.look(place, written) != []]
            late += foul
            if not foul:
                yield item
    for location, place in places.items():  # of the table before it was adopted, and of other programs
        if not layout.owns(location) and location not in live and place.by.operation != FOREIGN:
            late += [place] if kernel.late.look(place, written) != [] else []
    committed |= {manifest.txn for manifest in _ways_to(late, expired)}
    yield from _small_files(kernel, state, idle, committed, oldest)


def _forgotten(
    kernel: Kernel, state: TableState, idle: dict[str, list[FileEntry]], known: set[str], oldest: int
) -> Iterator[Manifest]:
    """Versions whose manifests are about to be deleted although they are not in the chain: they had a name once."""
    for entry in idle[state.layout.commits]:
        txn = _txn_of(entry)
        if txn not in known and entry.modified <= oldest and not entry.name.startswith("."):
            # no manifest, or one that builds on a manifest that is gone
            with contextlib.suppress(CorruptTable, TableTooNew):
                manifest = kernel.manifest(state, txn)
                if manifest.table_id == state.table_id:
                    yield manifest


def _ways_to(late: list[Superseded], expired: list[Manifest]) -> list[Manifest]:
    """The expired versions by which the next vacuum recognises the directories that have to stay."""
    oldest = min((place.before.version for place in late), default=math.inf)
    return [manifest for manifest in expired if manifest.version >= oldest]


def _small_files(
    kernel: Kernel, state: TableState, idle: dict[str, list[FileEntry]], committed: set[str], oldest: int
) -> Iterator[Garbage]:
    layout = state.layout
    aged = {
        layout.empty: "an empty directory of a settled commit",  # a query may have planned with it
        layout.staged: "of a version that was staged and never published",
    }
    for entry, reason in ((entry, reason) for folder, reason in aged.items() for entry in idle[folder]):
        if entry.modified <= oldest:
            yield Garbage(entry.path, 0 if entry.is_directory else entry.size, reason)
    for entry in idle[layout.commits]:
        if _txn_of(entry) not in committed and entry.modified <= oldest:
            yield Garbage(entry.path, entry.size, "a manifest of no kept version")
    for entry in kernel.files.list(layout.seen):
        if entry.name != state.txn:
            yield Garbage(entry.path, entry.size, "a mark of a version that is not the newest any more")
    for entry in idle[layout.control]:
        if f"{layout.control}/{entry.name}" == layout.dropping and entry.modified <= oldest:
            yield Garbage(entry.path, entry.size, "the list of a drop that died before the table was gone")
    yield from _unfinished((entry for folder in _others(layout) for entry in idle[folder]), oldest)


def _unfinished(entries: Iterable[FileEntry], oldest: int) -> Iterator[Garbage]:
    """The small files that still have the hidden names under which they are written."""
    for entry in entries:
        if entry.name.startswith(".") and not entry.is_directory and entry.modified <= oldest:
            yield Garbage(entry.path, entry.size, "left by a write that never ended")


def _idle(kernel: Kernel, layout: Layout) -> dict[str, list[FileEntry]]:
    """What lies in the folders of transactions and belongs to no transaction that is at work, by folder."""
    folders = (*_content(layout), layout.empty, layout.commits, layout.staged, *_others(layout))
    found = {folder: kernel.files.list(folder) for folder in folders}
    # listed after the folders: a transaction that begins later is in none of them, and one that ended before is in
    # the lineage
    lease = kernel.settings.lease_seconds
    at_work = {
        entry.name
        for entry in kernel.files.list(layout.open)
        if not entry.name.startswith(".") and kernel.heartbeats.alive(layout, entry.name, lease)
    }
    return {
        folder: [entry for entry in entries if _txn_of(entry) not in at_work]
        for folder, entries in found.items()
    }


def _content(layout: Layout) -> list[str]:
    """The folders that hold what commits wrote: data and side data."""
    return [layout.data, *(layout.sidecars(kind) for kind in SIDECARS)]


def _others(layout: Layout) -> list[str]:
    """The folders of small files that belong to no transaction, or to one only as long as it is open."""
    return [layout.control, layout.open, layout.creations, layout.rebuilds, layout.pins, layout.compactions]


def _txn_of(entry: FileEntry) -> str:
    """The transaction of ``<txn>``, ``<txn>.json``, or one of these as it is being written: ``.<txn>.json.<hex>``."""
    return entry.name.removeprefix(".").partition(".")[0]


def _dead_parts(kernel: Kernel, path: str, live: set[str], reason: str) -> Iterator[Garbage]:
    """A directory as a whole if no live one is below it, otherwise its dead parts."""
    here = normal(path)
    if here in live:
        return
    if not any(other.startswith(f"{here}/") for other in live):
        yield Garbage(path, sum(entry.size for entry in kernel.files.walk(path)), reason)
        return
    for entry in kernel.files.list(path):
        if entry.is_directory:
            yield from _dead_parts(kernel, entry.path, live, reason)


def _below(path: str, places: Mapping[str, Superseded]) -> Iterator[Superseded]:
    """The places in a directory, itself among them."""
    here = normal(path)
    for location, place in places.items():
        if location == here or location.startswith(f"{here}/"):
            yield place


def _superseded_originals(
    kernel: Kernel, layout: Layout, live: set[str], expired: list[Manifest]
) -> Iterator[Garbage]:
    """Files of version 0 or of other programs, straight below the root, that only expired versions name."""
    seen: set[str] = set()
    for manifest in expired:
        for entry in manifest.partitions.values():
            location = normal(layout.absolute(entry.location))
            below = location == normal(layout.root) or location.startswith(f"{normal(layout.root)}/")
            if layout.owns(location) or not below or location in live or location in seen:
                continue
            seen.add(location)
            # the root of an unpartitioned table holds _lakemerge too, so files are deleted one by one
            if kernel.files.fingerprint(location).digest == entry.digest:
                for file in kernel.files.list(location):
                    if not file.is_directory and file.name[:1] not in "_.":
                        yield Garbage(file.path, file.size, "of the table before it was adopted")
