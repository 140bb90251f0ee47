"""Manifests as files: whole, or as the difference to the version before.

A table of few partitions has its whole state in each manifest. For a table of many partitions that would be megabytes
for a commit that changes one of them. So its manifests hold the partitions that their commits changed, and every so
often one holds the whole state.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

from lakemerge.errors import CorruptTable
from lakemerge.kernel.ports.filesystem import FileSystem
from lakemerge.kernel.table.layout import Layout
from lakemerge.kernel.table.manifest import PARTITION_DELTAS, Delta, Manifest, PartitionState, states_of

#: A table of up to this many partitions has its whole state in each manifest.
FEW_PARTITIONS = 100
#: This many manifests in a row may be differences; the next is whole.
LONGEST_CHAIN = 15
# The cache of a process holds at most this many manifests, and this many states of partitions in all of them.
_MANIFESTS, _STATES = 32, 400_000


def read_manifest(files: FileSystem, layout: Layout, txn: str) -> Manifest:
    """The manifest of a transaction, with the whole state, however it is kept.

    Raises:
        CorruptTable: there is none, or it cannot be read, or one that it builds on is gone.
        TableTooNew: it needs a feature that this program does not know.
    """
    return _store_of(files).read(files, layout, txn)


def read_commit(files: FileSystem, layout: Layout, txn: str) -> Manifest:
    """What a transaction did: its manifest, whose ``partitions`` may be no more than those that it changed.

    Raises:
        CorruptTable, TableTooNew: as :func:`read_manifest`.
    """
    return _parsed(layout, txn, _text_of(files, layout, txn))


def lineage(files: FileSystem, layout: Layout, newest: Manifest) -> Iterator[Manifest]:
    """The commits that led to a version, the newest first, as far back as their manifests are there."""
    manifest: Manifest | None = newest
    while manifest is not None:
        yield manifest
        try:
            manifest = read_manifest(files, layout, manifest.parent) if manifest.parent else None
        except CorruptTable:
            return  # vacuumed


def commits(files: FileSystem, layout: Layout, newest: Manifest) -> Iterator[Manifest]:
    """The commits that led to a version, the newest first, as far back as their manifests are there.

    Each is read when it is asked for, and has only the states of the partitions that it has written: a whole history
    takes as much memory as there are directories, however many partitions each version has.
    """
    commit = newest
    while True:
        yield replace(commit, partitions=_written(commit))
        try:
            if commit.parent is None:
                return
            commit = read_commit(files, layout, commit.parent)
        except CorruptTable:
            return  # vacuumed


def commits_since(
    files: FileSystem, layout: Layout, newest: Manifest, is_before: Callable[[Manifest], bool]
) -> list[Manifest]:
    """The commits that led to a version, the newest first, as of :func:`commits`.

    The last one has its whole state: the first that is before the wanted ones, or the oldest that is there.
    """
    found = []
    for commit in commits(files, layout, newest):
        found.append(commit)
        if is_before(commit):
            break
    with contextlib.suppress(CorruptTable):  # a vacuum that died has deleted what it builds on
        found[-1] = newest if len(found) == 1 else read_manifest(files, layout, found[-1].txn)
    return found


def _written(commit: Manifest) -> dict[str, PartitionState]:
    return {name: commit.partitions[name] for name in commit.written if name in commit.partitions}


def write_manifest(
    files: FileSystem, layout: Layout, manifest: Manifest, parent: Manifest | None
) -> Manifest:
    """Write a manifest, as the difference to its parent where that is much less.

    Returns:
        The manifest as it is kept.
    """
    changed = manifest.partitions if parent is None else _changed(manifest, parent)
    delta = None if parent is None else _delta_of(manifest, parent, len(changed))
    features = tuple(name for name in manifest.reader_features if name != PARTITION_DELTAS)
    if delta is not None:
        features = (*features, PARTITION_DELTAS)
    manifest = replace(manifest, delta=delta, reader_features=features)
    kept = manifest if delta is None else replace(manifest, partitions=changed)
    files.write_text(layout.manifest_of(manifest.txn), kept.to_json())
    return manifest


def keep_state(files: FileSystem, layout: Layout, manifest: Manifest) -> None:
    """Write down the whole state of a version, so that the manifests before it may be deleted."""
    body = {
        "txn": manifest.txn,
        "partitions": {name: vars(state) for name, state in manifest.partitions.items()},
    }
    files.write_text(layout.state_of(manifest.txn), json.dumps(body, indent=1, ensure_ascii=False) + "\n")


def _delta_of(manifest: Manifest, parent: Manifest, changed: int) -> Delta | None:
    """How a manifest relates to the newest whole one; ``None`` if it is to be whole itself.

    Args:
        changed: the number of partitions whose states it would hold.
    """
    if len(manifest.partitions) <= FEW_PARTITIONS:
        return None
    before = parent.delta or Delta(whole=parent.txn, steps=0, states=0)
    states = before.states + changed
    # a reader of a difference drops what was removed and puts in what was changed, and must arrive at the same state
    gone = parent.partitions.keys() - manifest.partitions.keys()
    removed = frozenset(manifest.removed)
    complete = gone <= removed and removed.isdisjoint(manifest.partitions)
    if not complete or before.steps >= LONGEST_CHAIN or states > len(manifest.partitions) // 2:
        return None
    return Delta(before.whole, before.steps + 1, states)


def _changed(manifest: Manifest, parent: Manifest) -> dict[str, PartitionState]:
    """The states of partitions that were written, or that the version before lacks or has other states of."""
    before = parent.partitions
    written = frozenset(manifest.written)
    return {
        name: state
        for name, state in manifest.partitions.items()
        if name in written or before.get(name) != state
    }


@dataclass(frozen=True)
class _Step:
    """A manifest, and a hash of its text."""

    mark: bytes
    manifest: Manifest

    @classmethod
    def read(cls, files: FileSystem, layout: Layout, txn: str, known: _Step | None = None) -> _Step:
        """Read a manifest, and parse it unless its text is the known one's."""
        text = _text_of(files, layout, txn)
        mark = hashlib.sha256(text.encode()).digest()
        return known if known and known.mark == mark else cls(mark, _parsed(layout, txn, text))


class _Store:
    """The manifests that one process has read lately. What a commit says does not change once it is claimed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: OrderedDict[str, _Step] = OrderedDict()

    def read(self, files: FileSystem, layout: Layout, txn: str) -> Manifest:
        # the one that is asked for is read each time: it may be missing, or repaired
        known = self._get(layout.manifest_of(txn))
        step = _Step.read(files, layout, txn, known)
        return step.manifest if step is known else self._whole(files, layout, step)

    def _whole(self, files: FileSystem, layout: Layout, newest: _Step) -> Manifest:
        """A manifest with its whole state, found by going back to one that has it."""
        steps = [newest]
        states: Mapping[str, PartitionState] | None = None
        while states is None:
            delta, parent = steps[-1].manifest.delta, steps[-1].manifest.parent
            if delta is None:
                states = {}  # it has its own
            elif parent is not None and (known := self._get(layout.manifest_of(parent))):
                states = known.manifest.partitions
            else:
                try:
                    steps.append(_Step.read(files, layout, parent or ""))
                except CorruptTable as error:
                    steps, states = _from_kept_state(files, layout, steps, error)
        for step in reversed(steps):
            states = dict(states)
            for name in step.manifest.removed:
                states.pop(name, None)
            states.update(step.manifest.partitions)
            whole = _Step(step.mark, replace(step.manifest, partitions=states))
            self._put(layout.manifest_of(step.manifest.txn), whole)
        return replace(newest.manifest, partitions=states)

    def _get(self, path: str) -> _Step | None:
        with self._lock:
            if path in self._found:
                self._found.move_to_end(path)
            return self._found.get(path)

    def _put(self, path: str, step: _Step) -> None:
        with self._lock:
            self._found[path] = step
            self._found.move_to_end(path)
            states = sum(len(one.manifest.partitions) for one in self._found.values())
            while len(self._found) > 1 and (len(self._found) > _MANIFESTS or states > _STATES):
                _, oldest = self._found.popitem(last=False)
                states -= len(oldest.manifest.partitions)


_STORES: WeakKeyDictionary[FileSystem, _Store] = WeakKeyDictionary()
_STORES_LOCK = threading.Lock()


def _store_of(files: FileSystem) -> _Store:
    with _STORES_LOCK:
        return _STORES.setdefault(files, _Store())


def _from_kept_state(
    files: FileSystem, layout: Layout, steps: list[_Step], gone: CorruptTable
) -> tuple[list[_Step], Mapping[str, PartitionState]]:
    """The state that vacuum has kept for one of these versions, with that version's step and those after it.

    Vacuum keeps the state of the oldest version that it leaves, before it deletes the manifests before that.

    Args:
        steps: the newest first; what the last of them builds on is gone.
        gone: the error that says so.

    Raises:
        CorruptTable: vacuum has kept none.
    """
    for number in reversed(range(len(steps))):
        path = layout.state_of(steps[number].manifest.txn)
        try:
            states = states_of(json.loads(files.read_text(path))["partitions"])
        except FileNotFoundError:
            continue
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            found = f"{type(error).__name__} in {path}: {error}"
            raise _incomplete(layout, steps[-1].manifest, found) from error
        # to apply its own difference once more changes nothing
        return steps[: number + 1], states
    raise _incomplete(layout, steps[-1].manifest, gone.found) from gone


def _text_of(files: FileSystem, layout: Layout, txn: str) -> str:
    path = layout.manifest_of(txn)
    try:
        return files.read_text(path)
    except FileNotFoundError as error:
        raise CorruptTable(
            expected=f"the manifest {path}",
            found="no such file",
            action="Restore it from a backup, or remove the lakemerge.* table parameters to adopt the table afresh.",
        ) from error


def _parsed(layout: Layout, txn: str, text: str) -> Manifest:
    return Manifest.from_json(text, layout.manifest_of(txn))


def _incomplete(layout: Layout, manifest: Manifest, found: str) -> CorruptTable:
    return CorruptTable(
        expected=f"the manifests that {layout.manifest_of(manifest.txn)} is the difference to",
        found=found,
        action="Restore them from a backup, or remove the lakemerge.* table parameters to adopt the table afresh.",
    )
