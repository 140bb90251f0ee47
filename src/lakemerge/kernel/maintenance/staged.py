"""Versions that were staged and not published: found, and discarded."""

from __future__ import annotations

from dataclasses import dataclass

from lakemerge.errors import CorruptTable, LakemergeError
from lakemerge.kernel.kernel import Kernel
from lakemerge.kernel.ports.names import TableName
from lakemerge.kernel.table.layout import SIDECARS, Layout
from lakemerge.kernel.table.manifest import Manifest
from lakemerge.kernel.table.manifests import commits
from lakemerge.kernel.table.staged_version import StagedVersion


@dataclass(frozen=True)
class Waiting:
    """A version that was staged.

    Attributes:
        manifest: the one that the version would have.
        left: why its writer has given it up; ``None`` while it has not.
        alive: whether its writer is at work.
    """

    manifest: Manifest
    left: str | None
    alive: bool


def staged_versions(kernel: Kernel, name: TableName, layout: Layout) -> list[Waiting]:
    """The versions of a table that were staged and are not published, the newest first.

    The table need not exist: one of these versions may be the one that would make it.

    Args:
        layout: the layout of the root below which they were staged.
    """
    found = _recorded(kernel, layout)
    # a writer that died while it published has not removed its record
    if any(one.left is None and not one.alive for one in found):
        versions = _versions(kernel, name)
        found = [one for one in found if one.manifest.txn not in versions]
    return found


def _versions(kernel: Kernel, name: TableName) -> set[str]:
    """The transactions that made a table's versions, as far back as is known; none if there is no such table."""
    try:
        state, newest = kernel.settled(name)
    except LakemergeError:
        return set()
    return {version.txn for version in commits(kernel.files, state.layout, newest)}


def _recorded(kernel: Kernel, layout: Layout) -> list[Waiting]:
    found = []
    for entry in kernel.files.list(layout.staged):
        if entry.name.startswith(".") or not entry.name.endswith(".json"):
            continue
        try:
            version = StagedVersion.from_json(kernel.files.read_text(entry.path), entry.path)
        except (CorruptTable, FileNotFoundError):
            continue  # written or discarded at this moment
        txn = version.manifest.txn
        alive = version.left is None and kernel.heartbeats.alive(layout, txn, kernel.settings.lease_seconds)
        found.append(Waiting(version.manifest, version.left, alive))
    return sorted(found, key=lambda one: one.manifest.committed_at, reverse=True)


def discard_left(kernel: Kernel, layout: Layout) -> list[str]:
    """Delete what writers have given up. Writers that are only silent are left to vacuum, which fences them off.

    Returns:
        The transactions that were discarded.
    """
    gone = [one.manifest.txn for one in _recorded(kernel, layout) if one.left is not None]
    for txn in gone:
        for path in (layout.data_of(txn), *(layout.sidecar_of(kind, txn) for kind in SIDECARS)):
            kernel.files.delete(path)
        kernel.files.delete(layout.staged_of(txn))
    return gone
