"""The versions of a table that still exist, and those of them that a vacuum keeps."""

from __future__ import annotations

import datetime
import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from lakemerge.errors import CorruptTable
from lakemerge.kernel.kernel import Kernel
from lakemerge.kernel.maintenance.idle import content_folders
from lakemerge.kernel.table.layout import Layout, normal
from lakemerge.kernel.table.manifest import Manifest
from lakemerge.kernel.table.manifests import commits_since
from lakemerge.kernel.table.state import TableState

_LOG = logging.getLogger("lakemerge")


@dataclass(frozen=True)
class KnownVersions:
    """The versions of a table that still exist.

    Of each there is no more than what its commit has changed, so that they take no more room than the directories do.

    Attributes:
        state: the newest one's.
        newest: its manifest, with its whole state.
        chain: those that led to it, the newest first; the last one has its whole state.
        aside: older ones that a reference names; the versions between them and the chain are vacuumed.
        named: the transactions of all versions that a reference keeps.
    """

    state: TableState
    newest: Manifest
    chain: tuple[Manifest, ...]
    aside: tuple[Manifest, ...]
    named: frozenset[str]

    @classmethod
    def read(
        cls, kernel: Kernel, state: TableState, newest: Manifest, now: datetime.datetime
    ) -> KnownVersions:
        """
        Args:
            now: by the file system's clock; references that have expired by then keep nothing.
        """
        chain = tuple(commits_since(kernel.files, state.layout, newest, lambda _: False))
        named = frozenset(one.txn for one in newest.references.values() if one.holds_at(now))
        missing = sorted(named - {manifest.txn for manifest in chain})
        return cls(state, newest, chain, tuple(_still_there(kernel, state, missing)), named)

    def __iter__(self) -> Iterator[Manifest]:
        yield from self.chain
        yield from self.aside

    def kept_from(self, oldest: int) -> list[Manifest]:
        """The versions that stay if those before this number go."""
        return [
            *self.aside,
            *(one for one in self.chain if one.version >= oldest or one.txn in self.named),
        ]

    @property
    def transactions(self) -> set[str]:
        """All transactions that have made a version, or something that a version has."""
        layout = self.state.layout
        made = (self.newest, *self)
        return {one.txn for one in made} | {
            _transaction_of(layout, place) for one in made for place in places_of(layout, one)
        }


def _still_there(kernel: Kernel, state: TableState, txns: Iterable[str]) -> Iterator[Manifest]:
    """The versions of these transactions; one that is gone is logged: it got its name while a vacuum was at work."""
    for txn in txns:
        try:
            yield kernel.manifest(state, txn)
        except CorruptTable:
            _LOG.warning("%s: a named version (transaction %s) is gone", state.name, txn)


def places_of(layout: Layout, manifest: Manifest) -> Iterator[str]:
    """The places of all that a version consists of: its partitions and its side data."""
    yield from (normal(layout.absolute(entry.location)) for entry in manifest.partitions.values())
    yield from (normal(layout.absolute(path)) for paths in manifest.sidecars.values() for path in paths)


def _transaction_of(layout: Layout, place: str) -> str:
    """The transaction in whose directory something lies, such as ``…/data/<txn>/p=1``; empty where it is nobody's."""
    for folder in content_folders(layout):
        _, below, rest = place.partition(f"{normal(folder)}/")
        if below:
            return rest.partition("/")[0]
    return ""
