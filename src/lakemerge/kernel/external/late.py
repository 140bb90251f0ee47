"""Files that another program wrote into a directory which a commit had superseded meanwhile: found, and taken in.

An ``INSERT`` that was planned before a commit may end after the commit's last look. Its files then lie where no version
looks. The directory's fingerprint distinguishes them from the files that the commit knew. Each of them is moved, in one
step, to where its partition is now: there it is a change by another program like any other. At any moment a file is in
one directory only. So no row is taken in twice, even if two processes do this, if one dies in the middle, or if it is
done again. A directory that is superseded just when it gets a file is looked at again.
"""

from __future__ import annotations

import hashlib
import itertools
import logging
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from lakemerge.errors import LakemergeError, MetastoreError, StorageError
from lakemerge.kernel.ports.filesystem import EMPTY, FileEntry, FileSystem
from lakemerge.kernel.ports.metastore import Metastore
from lakemerge.kernel.ports.names import TableName, partition_values
from lakemerge.kernel.ports.system import Clock, Host, new_transaction_id
from lakemerge.kernel.settings import Settings
from lakemerge.kernel.table.definition import new_partition, same_keys
from lakemerge.kernel.table.layout import Layout, normal
from lakemerge.kernel.table.manifest import FOREIGN, WHOLE_TABLE, Manifest, PartitionState
from lakemerge.kernel.table.manifests import commits, commits_since, read_manifest
from lakemerge.kernel.table.state import TableState

_LOG = logging.getLogger("lakemerge")

# A statement that was planned before a commit is expected to end within this time after it, in milliseconds.
_LONGEST_STATEMENT = 24 * 3600 * 1000
_PREFIX = re.compile(r"^late-[0-9a-f]{16}-")
# How ``hdfs dfs -put`` ends the name of a file that it is still writing.
_HALF = "._COPYING_"


@dataclass(frozen=True)
class Superseded:
    """A directory that was a partition's until a commit.

    Attributes:
        location: its URI.
        state: what the last version that had the directory knew of it.
        before: that version.
        by: the commit.
        replaced_by: the last commit, this one or a later one, that replaced the partition's rows without having read
            them. What another program had written by then is replaced as well.
    """

    partition: str
    location: str
    state: PartitionState
    before: Manifest
    by: Manifest
    replaced_by: str | None


@dataclass(frozen=True)
class _Waiting:
    """A partition that a commit has moved or removed, until it is known where it was before."""

    by: Manifest
    before: Manifest
    location: str | None
    replaced_by: str | None


def superseded(layout: Layout, chain: Iterable[Manifest]) -> Iterator[Superseded]:
    """The directories of partitions that commits have moved to other directories, or removed.

    Args:
        chain: commits, the newest first, each followed by the one before it. The last one has its whole state, the
            others at least the states of the partitions that they have written.
    """
    replaced: dict[str, str] = {}
    waiting: dict[str, _Waiting] = {}
    by: Manifest | None = None
    for before in chain:
        if by is not None:
            # what another program did is no replacement of what a third one did
            unseen = () if by.operation == FOREIGN else by.touched if by.unread is None else by.unread
            for partition in unseen:
                replaced.setdefault(partition, by.txn)
            for partition in by.touched:
                now = by.partitions.get(partition)
                waiting[partition] = _Waiting(
                    by, before, now.location if now else None, replaced.get(partition)
                )
        for partition in waiting.keys() & before.partitions.keys():
            state, found = before.partitions[partition], waiting.pop(partition)
            if found.location != state.location:
                location = layout.absolute(state.location)
                yield Superseded(partition, location, state, found.before, found.by, found.replaced_by)
        for partition in before.removed:
            waiting.pop(partition, None)  # the version before the commit did not have it
        by = before


class SettledTables(Protocol):
    """Where tables are found settled, and other programs' work is taken in."""

    metastore: Metastore
    files: FileSystem
    clock: Clock
    host: Host
    settings: Settings

    def settled(self, name: TableName) -> tuple[TableState, Manifest]:
        """The settled state of a table, and the manifest of its version."""

    def commit_external_changes(
        self, name: TableName, names: Iterable[str] | None
    ) -> tuple[TableState, frozenset[str]]:
        """Commit what other programs did to partitions."""


class LateFiles:
    """Looks at superseded directories, and takes in what has come into them."""

    def __init__(self, tables: SettledTables) -> None:
        self._tables = tables
        self._files = tables.files

    # -- where to look -------------------------------------------------------------------------

    def after(self, name: TableName, layout: Layout, base: Manifest, by: Manifest) -> None:
        """Look at the directories that a settled commit has superseded, as far as the commit had read them.

        Never fails: the commit stands, and ``lakemerge_recover`` and vacuum look again.

        Args:
            base: the version that the commit was made on.
        """
        if by.unread is None or not (by.touched - set(by.unread)) & set(base.partitions):
            return
        try:
            # others may have moved what it read since
            before, parent = base, by.parent
            if parent is not None and parent != base.txn:
                before = read_manifest(self._files, layout, parent)
            # nearly always nothing has come: one look, before the table is looked up
            read = [place for place in superseded(layout, [by, before]) if place.partition not in by.unread]
            if not self._changed(read):
                return
            state, newest = self._tables.settled(name)
            chain = [by, before]
            if newest.txn != by.txn:
                chain = commits_since(self._files, state.layout, newest, lambda one: one.version < by.version)
            places = [
                place
                for place in superseded(state.layout, chain)
                if place.by.txn == by.txn and place.partition not in by.unread
            ]
            self.take_in(name, places)
        except LakemergeError as error:
            _LOG.warning(
                "%s: whether other programs wrote during version %d could not be seen; lakemerge_recover looks again: "
                "%s",
                name,
                by.version,
                error,
            )

    def lately(self, name: TableName) -> list[Superseded]:
        """The directories that were superseded within the time that a statement may take."""
        state, newest = self._tables.settled(name)
        oldest = self._files.now(state.layout.commits) - _LONGEST_STATEMENT
        written = written_at(self._files, state.layout)
        chain = commits_since(self._files, state.layout, newest, lambda one: written.get(one.txn, 0) < oldest)
        return list(superseded(state.layout, chain))

    # -- looking -------------------------------------------------------------------------------

    def _changed(self, places: Sequence[Superseded]) -> list[Superseded]:
        """Those whose directories are not as they were, usually few; all are listed together."""
        marks = self._files.fingerprints([place.location for place in places])
        return [place for place, mark in zip(places, marks, strict=True) if mark != place.state.fingerprint]

    def look(self, place: Superseded, written: Mapping[str, int]) -> list[FileEntry] | None:
        """The new files that nobody has taken in or replaced; ``None`` if other files were changed or removed as well.

        Args:
            written: when manifests were written, from :func:`written_at`.
        """
        known = place.state.fingerprint
        found, entries = self._files.snapshot(place.location)
        if found == known:
            return []
        if place.replaced_by is not None:
            since = written.get(place.replaced_by, 0)
            entries = [entry for entry in entries if entry.modified > since]
        if not entries:
            return []
        added = self._files.added_since(place.location, known)
        return None if added is None else [entry for entry in added if entry in entries]

    # -- taking in -----------------------------------------------------------------------------

    def take_in(self, name: TableName, places: Sequence[Superseded]) -> list[str]:
        """Make what has come into superseded directories a version, until nothing more is found.

        Returns:
            The partitions that have got rows.

        Raises:
            LakemergeError: some places may not have been looked at; files that were found are where they were, or where
                readers find them.
        """
        taken: set[str] = set()
        while places:
            state, newest = self._tables.settled(name)
            found = self._find(state, newest, places)
            if not found:
                break
            # other work of other programs, and of writers that came too late, is taken in or mended first
            partitions = {place.partition for place, _ in found}
            self._tables.commit_external_changes(name, partitions)
            state, newest = self._tables.settled(name)
            made: list[Superseded] = []
            if newest.table_id == found[0][0].by.table_id:
                for place, entries in found:
                    target = self._move(state, newest, place, entries)
                    if place.partition not in newest.partitions:
                        made.append(_unknown(place, target))
                self._tables.commit_external_changes(name, partitions)
                taken |= partitions
            # another commit may have superseded the very directories that the files were moved to
            places = [*self._since(name, newest, partitions), *self._passed_over(name, newest, made)]
        return sorted(taken)

    def _passed_over(self, name: TableName, known: Manifest, made: Sequence[Superseded]) -> list[Superseded]:
        """Those places, made for partitions that were gone, that no version has had.

        A commit that was claimed before has put its own directory in the partition since. A place that a version has
        had is not among them: the later version that supersedes it knows it.

        Args:
            known: the version that did not have the partitions.
        """
        if not made:
            return []
        state, newest = self._tables.settled(name)
        had = {
            normal(state.layout.absolute(version.partitions[place.partition].location))
            for version in itertools.takewhile(
                lambda version: version.version > known.version, commits(self._files, state.layout, newest)
            )
            for place in made
            if place.partition in version.partitions
        }
        return [place for place in made if normal(place.location) not in had]

    def _find(
        self, state: TableState, newest: Manifest, places: Sequence[Superseded]
    ) -> list[tuple[Superseded, list[FileEntry]]]:
        live = {normal(state.layout.absolute(one.location)) for one in newest.partitions.values()}
        written = written_at(self._files, state.layout)
        dead = [
            place
            for place in places
            if normal(place.location) not in live and place.by.table_id == newest.table_id
        ]
        found = []
        for place in self._changed(dead):
            entries = self.look(place, written)
            whole = [entry for entry in entries or () if not entry.name.endswith(_HALF)]
            if entries is None or (whole and not self._may_take(place, newest)):
                _refuse(place)
            elif whole:
                found.append((place, whole))
        return found

    def _since(self, name: TableName, known: Manifest, partitions: set[str]) -> list[Superseded]:
        state, newest = self._tables.settled(name)
        if newest.table_id != known.table_id:
            return []
        chain = commits_since(self._files, state.layout, newest, lambda one: one.version <= known.version)
        return [place for place in superseded(state.layout, chain) if place.partition in partitions]

    def _may_take(self, place: Superseded, newest: Manifest) -> bool:
        before = place.before
        types = {column.name: column.type for column in newest.columns}
        return (
            self._tables.settings.on_foreign_write == "adopt"
            # what another program moved or dropped is that program's business
            and place.by.operation != FOREIGN
            and same_keys(before.partition_columns, newest.partition_columns)
            and before.file_format == newest.file_format
            and all(types.get(column.name, column.type) == column.type for column in before.columns)
        )

    def _move(
        self, state: TableState, newest: Manifest, place: Superseded, entries: Sequence[FileEntry]
    ) -> str:
        """Move files to where their partition is now; returns the URI of that directory."""
        target = self._target(state, newest, place.partition)
        _LOG.warning(
            "%s: another program wrote %d files into %s after a commit had superseded it; they are taken in",
            state.table.name,
            len(entries),
            place.location,
        )
        for entry in entries:
            # named by its path: files of one name may come from several directories
            mark = hashlib.sha256(normal(entry.path).encode()).hexdigest()[:16]
            try:
                self._files.move(entry.path, f"{target}/late-{mark}-{_PREFIX.sub('', entry.name)}")
            except StorageError:
                if self._files.exists(entry.path):
                    raise
                # another process was faster
        return target

    def _target(self, state: TableState, newest: Manifest, partition: str) -> str:
        """Where a partition is now; a partition that is gone is made again."""
        known = newest.partitions.get(partition)
        if known is not None:
            return state.layout.absolute(known.location)
        assert partition != WHOLE_TABLE
        metastore = self._tables.metastore
        token = new_transaction_id(self._tables.clock, self._tables.host)
        # not below _lakemerge: there a partition that no version has counts as the work of a late writer
        location = f"{state.layout.root}/late-{token}/{partition}"
        self._files.make_directory(location)
        row = new_partition(state.table, partition_values(partition), location)
        metastore.add_partitions(state.table.name, [row])
        for made in metastore.partitions(state.table.name, [partition]):
            if not state.is_stray(made.location):
                return made.location
        raise MetastoreError(
            expected=f"to make the partition {partition} of {state.table.name} again, for files that came late",
            found="that another process created or dropped it at the same moment",
            action="Run lakemerge_recover, which looks again.",
        )


def written_at(files: FileSystem, layout: Layout) -> dict[str, int]:
    """When manifests were written, in the file system's milliseconds, by transaction."""
    return {entry.name.removesuffix(".json"): entry.modified for entry in files.list(layout.commits)}


def _refuse(place: Superseded) -> None:
    _LOG.warning(
        "%s: another program wrote into this directory after a commit had superseded it, and what it wrote cannot be "
        "taken in: files were removed or replaced, the table has other columns by now, another program had moved or "
        "dropped the partition, or on_foreign_write is fail. "
        "Its rows are not in the table. Vacuum keeps the directory: insert them again from there, then delete it",
        place.location,
    )


def _unknown(place: Superseded, location: str) -> Superseded:
    """The same place, in a directory that no version knows."""
    state = PartitionState(location, EMPTY.files, EMPTY.bytes, EMPTY.digest)
    return replace(place, location=location, state=state, replaced_by=None)
