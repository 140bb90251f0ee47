"""What people do with a table's versions: look at them, drop the table, free what no version needs."""

from __future__ import annotations

import datetime
import logging
from collections.abc import Iterator
from dataclasses import dataclass

from lakemerge.errors import CorruptTable
from lakemerge.kernel.kernel import Kernel
from lakemerge.kernel.layout import CONTROL, Layout, normal
from lakemerge.kernel.manifest import Manifest
from lakemerge.kernel.names import TableName
from lakemerge.kernel.state import TableState, read_manifest

_LOG = logging.getLogger("lakemerge")

DEFAULT_RETENTION = datetime.timedelta(days=7)


@dataclass(frozen=True)
class Garbage:
    """Something that no kept version needs: a URI, its size in bytes, and why it can go."""

    path: str
    size: int
    reason: str


def history(kernel: Kernel, name: TableName, limit: int | None = None) -> list[Manifest]:
    """The table's commits, the newest first. Empty for a table that was never adopted.

    The list ends early where vacuum has removed older manifests.
    """
    state = kernel.peek(name)
    if state is None:
        return []
    return list(_lineage(kernel, state, limit))


def _lineage(kernel: Kernel, state: TableState, limit: int | None = None) -> Iterator[Manifest]:
    txn: str | None = state.txn
    count = 0
    while txn is not None and (limit is None or count < limit):
        try:
            manifest = read_manifest(kernel.files, state.layout, txn)
        except CorruptTable:
            if count == 0:
                raise
            return  # vacuumed
        yield manifest
        txn, count = manifest.parent, count + 1


def vacuum(
    kernel: Kernel,
    name: TableName,
    *,
    retention: datetime.timedelta = DEFAULT_RETENTION,
    dry_run: bool = True,
) -> list[Garbage]:
    """Free the files that no kept version needs.

    The newest version is always kept, and every one that was still the newest at some moment of the retention
    time, which must outlive the longest query. Open transactions are left alone, and so is all that lies outside
    the table's root and all that another program put there after version 0.

    Args:
        dry_run: only tell what would be deleted.

    Returns:
        What is (or would be) deleted.
    """
    state = kernel.open(name)
    now = datetime.datetime.now(datetime.timezone.utc)
    kept: list[Manifest] = []
    expired: list[Manifest] = []
    superseded = now
    for manifest in _lineage(kernel, state):
        (kept if not kept or superseded > now - retention else expired).append(manifest)
        superseded = datetime.datetime.fromisoformat(manifest.committed_at)
    garbage = list(_garbage(kernel, state, kept, expired, retention))
    if not dry_run:
        for item in garbage:
            kernel.files.delete(item.path)
        _LOG.info("%s: vacuum freed %d bytes", name, sum(item.size for item in garbage))
    return garbage


def _garbage(
    kernel: Kernel,
    state: TableState,
    kept: list[Manifest],
    expired: list[Manifest],
    retention: datetime.timedelta,
) -> Iterator[Garbage]:
    layout = state.layout
    live = {
        normal(layout.absolute(entry.location)) for manifest in kept for entry in manifest.partitions.values()
    }
    live |= {
        normal(layout.absolute(path))
        for manifest in kept
        for paths in manifest.sidecars.values()
        for path in paths
    }
    committed = {manifest.txn for manifest in kept}
    yield from _superseded_originals(kernel, layout, live, expired)
    oldest = _oldest_allowed(kernel, layout, retention)
    for folder in (layout.data, layout.ledger):
        for entry in kernel.files.list(folder):
            if not entry.is_directory or _in_use(kernel, layout, entry.name):
                continue
            in_chain = entry.name in committed or any(entry.name == manifest.txn for manifest in expired)
            if not in_chain and entry.modified > oldest:
                continue  # a transaction that died lately, or one whose claim is on its way
            reason = "superseded" if in_chain else "left by a transaction that never committed"
            yield from _dead_parts(kernel, entry.path, live, reason)
    for entry in kernel.files.list(layout.empty):
        if entry.name != state.claim and not _in_use(kernel, layout, entry.name):
            yield Garbage(entry.path, 0, "an empty directory of a settled commit")
    for entry in kernel.files.list(layout.commits):
        txn = entry.name.removesuffix(".json")
        if txn not in committed and not _in_use(kernel, layout, txn) and entry.modified <= oldest:
            yield Garbage(entry.path, entry.size, "a manifest of no kept version")


def _in_use(kernel: Kernel, layout: Layout, txn: str) -> bool:
    return kernel.heartbeats.alive(layout, txn, kernel.settings.lease_seconds)


def _oldest_allowed(kernel: Kernel, layout: Layout, retention: datetime.timedelta) -> int:
    """The time, in the file system's milliseconds, before which what is not referenced may go."""
    probe = f"{layout.commits}/.now"
    kernel.files.write_text(probe, "")
    try:
        now = next(entry.modified for entry in kernel.files.list(layout.commits) if entry.name == ".now")
    finally:
        kernel.files.delete(probe)
    return now - int(retention.total_seconds() * 1000)


def _dead_parts(kernel: Kernel, path: str, live: set[str], reason: str) -> Iterator[Garbage]:
    """A directory as a whole where no live one is below it, else its dead parts."""
    here = normal(path)
    if here in live:
        return
    if not any(other.startswith(f"{here}/") for other in live):
        yield Garbage(path, sum(entry.size for entry in kernel.files.walk(path)), reason)
        return
    for entry in kernel.files.list(path):
        if entry.is_directory:
            yield from _dead_parts(kernel, entry.path, live, reason)


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
            # the root of an unpartitioned table holds _lakemerge too, so files go one by one
            if kernel.files.fingerprint(location).digest == entry.digest:
                for file in kernel.files.list(location):
                    if not file.is_directory and file.name[:1] not in "_.":
                        yield Garbage(file.path, file.size, "of the table before it was adopted")


def drop(kernel: Kernel, name: TableName, *, keep_files: bool = False) -> None:
    """Drop a table or view with all its versions; no error where there is none.

    The metastore's row goes first, so that no reader finds the table half there.

    Args:
        keep_files: leave the files, as Hive does for external tables.
    """
    table = kernel.metastore.get_table(name)
    if table is None:
        return
    state = kernel.peek(name)
    external = table.kind == "EXTERNAL_TABLE"
    kernel.metastore.drop_table(name)
    if keep_files or table.kind == "VIRTUAL_VIEW":
        return
    if state is not None:
        # an adopted external table's own files are somebody else's; what lakemerge made of it is not
        kernel.files.delete(f"{state.layout.root}/{CONTROL}" if external else state.layout.root)
    elif not external and table.location:
        kernel.files.delete(table.location)
