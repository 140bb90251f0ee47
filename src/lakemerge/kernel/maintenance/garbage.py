"""What no kept version of a table needs."""

from __future__ import annotations

import bisect
import contextlib
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from lakemerge.errors import CorruptTable, TableTooNew
from lakemerge.kernel.external.late import Superseded, superseded, written_at
from lakemerge.kernel.kernel import Kernel
from lakemerge.kernel.maintenance.idle import Idle, content_folders, other_folders, txn_of
from lakemerge.kernel.maintenance.kept_versions import KnownVersions, places_of
from lakemerge.kernel.ports.filesystem import FileEntry
from lakemerge.kernel.table.layout import Layout, normal
from lakemerge.kernel.table.manifest import FOREIGN, Manifest
from lakemerge.kernel.table.state import TableState


@dataclass(frozen=True)
class Garbage:
    """Something that no kept version needs: a URI, its size in bytes, and why it can go."""

    path: str
    size: int
    reason: str


def find_garbage(
    kernel: Kernel,
    versions: KnownVersions,
    idle: Idle,
    kept: list[Manifest],
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
    state = versions.state
    layout = state.layout
    written = written_at(kernel.files, layout)
    in_chain = {manifest.txn for manifest in versions}
    stays = {manifest.txn for manifest in kept}
    current = pointed | set(places_of(layout, versions.newest))
    live = current | _live(kernel, versions, kept)
    live_above = _above(live)
    below, beside = _superseded_places(versions, live, current, stays)
    if state.table.kind != "EXTERNAL_TABLE":  # an external table's files may be of use to somebody else
        expired = (manifest for manifest in versions.chain if manifest.txn not in stays)
        forgotten = _forgotten(kernel, state, idle, in_chain, oldest)
        yield from _superseded_originals(kernel, layout, live, itertools.chain(expired, forgotten))
    for entry in (entry for folder in content_folders(layout) for entry in idle.entries[folder]):
        committed = entry.name in in_chain or any(below(entry.path))
        # otherwise, and young: a transaction that died recently, or one that is about to claim
        if not entry.is_directory or (not committed and idle.last_written(entry.name) > oldest):
            continue
        reason = "superseded" if committed else "left by a transaction that never committed"
        for item in _dead_parts(kernel, entry.path, live, live_above, reason):
            foul = [place for place in below(item.path) if kernel.late.look(place, written) != []]
            late += foul
            if not foul:
                yield item
    late += [place for place in beside if kernel.late.look(place, written) != []]
    stays |= {manifest.txn for manifest in ways_to(late, versions)}
    yield from _small_files(kernel, state, idle, in_chain, stays, oldest)


def _superseded_places(
    versions: KnownVersions, live: set[str], current: set[str], stays: set[str]
) -> tuple[_Below, list[Superseded]]:
    """The superseded directories that no kept version needs, and others that have to be looked at all the same.

    The others are those of the table before it was adopted, and those that an older version keeps although the versions
    that tell late files from its own go now.

    Args:
        current: what the newest version and the metastore need, out of all that is ``live``.
        stays: the transactions of the versions that are kept.
    """
    layout = versions.state.layout
    dead: dict[str, Superseded] = {}
    kept: list[Superseded] = []
    for place in superseded(layout, versions.chain):
        location = normal(place.location)
        if location not in live:
            dead.setdefault(location, place)
        elif location not in current and not stays.issuperset((place.before.txn, place.by.txn)):
            kept.append(place)
    originals = [
        place
        for location, place in dead.items()
        if not layout.owns(location) and place.by.operation != FOREIGN
    ]
    return _Below(dead), [*originals, *kept]


def _live(kernel: Kernel, versions: KnownVersions, kept: list[Manifest]) -> set[str]:
    """The places of all that kept versions consist of, but for the newest one's."""
    layout = versions.state.layout
    live: set[str] = set()
    there = {manifest.txn for manifest in kept}
    for manifest in kept:
        # what the version before had is in it, too, as far as the commit has not changed that
        whole = manifest.parent in there or manifest is versions.chain[-1]
        live.update(places_of(layout, manifest if whole else kernel.manifest(versions.state, manifest.txn)))
    return live


def _above(places: Iterable[str]) -> set[str]:
    """All directories that these places are in."""
    found: set[str] = set()
    for place in places:
        folder = place.rpartition("/")[0]
        while folder and folder not in found:
            found.add(folder)
            folder = folder.rpartition("/")[0]
    return found


class _Below:
    """Finds the places in a directory, itself among them."""

    def __init__(self, places: Mapping[str, Superseded]) -> None:
        self._places = places
        self._sorted = sorted(places)

    def __call__(self, path: str) -> Iterator[Superseded]:
        here = normal(path)
        if here in self._places:
            yield self._places[here]
        # "0" comes next after "/"
        first = bisect.bisect_left(self._sorted, f"{here}/")
        last = bisect.bisect_left(self._sorted, f"{here}0", first)
        yield from (self._places[location] for location in self._sorted[first:last])


def _forgotten(
    kernel: Kernel, state: TableState, idle: Idle, known: set[str], oldest: int
) -> Iterator[Manifest]:
    """Versions whose manifests are about to be deleted although they are not in the chain: they had a name once."""
    for entry in idle.entries[state.layout.commits]:
        txn = txn_of(entry)
        if txn not in known and idle.last_written(txn) <= oldest and not entry.name.startswith("."):
            # no manifest, or one that builds on a manifest that is gone
            with contextlib.suppress(CorruptTable, TableTooNew):
                manifest = kernel.manifest(state, txn)
                if manifest.table_id == state.table_id:
                    yield manifest


def ways_to(late: list[Superseded], versions: KnownVersions) -> list[Manifest]:
    """The versions by which the next vacuum recognises the directories that have to stay."""
    oldest = min((place.before.version for place in late), default=math.inf)
    return [manifest for manifest in versions.chain if manifest.version >= oldest]


def _small_files(
    kernel: Kernel, state: TableState, idle: Idle, committed: set[str], stays: set[str], oldest: int
) -> Iterator[Garbage]:
    def is_old(entry: FileEntry) -> bool:
        # who has not committed yet needs the first file that it has written until it has done with the last
        txn = txn_of(entry)
        return (entry.modified if txn in committed else idle.last_written(txn)) <= oldest

    layout = state.layout
    for entry in idle.entries[layout.empty]:
        if idle.last_written(entry.name) <= oldest:  # a query may have planned with it
            yield Garbage(entry.path, 0, "an empty directory of a settled commit")
    manifests = [entry for entry in idle.entries[layout.commits] if txn_of(entry) not in stays]
    lists = [one for one in idle.entries[layout.control] if f"{layout.control}/{one.name}" == layout.dropping]
    for entries, reason in (
        (idle.entries[layout.staged], "of a version that was staged and never published"),
        (manifests, "a manifest of no kept version"),
    ):
        yield from (Garbage(one.path, one.size, reason) for one in entries if is_old(one))
    for one in lists:
        if one.modified <= oldest:
            yield Garbage(one.path, one.size, "the list of a drop that died before the table was gone")
    for entry in kernel.files.list(layout.seen):
        if entry.name != state.txn:
            yield Garbage(entry.path, entry.size, "a mark of a version that is not the newest any more")
    yield from _unfinished(
        (entry for folder in other_folders(layout) for entry in idle.entries[folder]), oldest
    )


def _unfinished(entries: Iterable[FileEntry], oldest: int) -> Iterator[Garbage]:
    """The small files that still have the hidden names under which they are written."""
    for entry in entries:
        if entry.name.startswith(".") and not entry.is_directory and entry.modified <= oldest:
            yield Garbage(entry.path, entry.size, "left by a write that never ended")


def _dead_parts(
    kernel: Kernel, path: str, live: set[str], live_above: set[str], reason: str
) -> Iterator[Garbage]:
    """A directory as a whole if no live one is below it, otherwise its dead parts."""
    here = normal(path)
    if here in live:
        return
    if here not in live_above:
        yield Garbage(path, sum(entry.size for entry in kernel.files.walk(path)), reason)
        return
    for entry in kernel.files.list(path):
        if entry.is_directory:
            yield from _dead_parts(kernel, entry.path, live, live_above, reason)


def _superseded_originals(
    kernel: Kernel, layout: Layout, live: set[str], expired: Iterable[Manifest]
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
