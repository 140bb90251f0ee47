"""Where a table keeps its files: the folders below its root.

::

    <root>/_lakemerge/commits/<txn>.json     manifests
    <root>/_lakemerge/commits/<txn>.state.json   the state of the oldest version left by vacuum
    <root>/_lakemerge/commits/<txn>.group.json   the group of tables that a commit is part of
    <root>/_lakemerge/data/<txn>/d=1/…       the files that a commit wrote
    <root>/_lakemerge/ledger/<txn>/          sequences and tombstones that a merge wrote
    <root>/_lakemerge/deltas/<txn>/          the changes that a merge on read wrote
    <root>/_lakemerge/files/<txn>/           the landed files that an ingest has read
    <root>/_lakemerge/offsets/<txn>/         how far an ingest has read topics
    <root>/_lakemerge/quarantine/<txn>/      the records that an ingest has rejected
    <root>/_lakemerge/consumed/<txn>/        which partitions of its sources a commit has consumed
    <root>/_lakemerge/pins/<consumer>.json   the version that a consumer of this table still needs
    <root>/_lakemerge/compactions/<id>.json  what a compaction did, or is doing; for people
    <root>/_lakemerge/open/<txn>             heartbeat of a transaction that is under way
    <root>/_lakemerge/staged/<txn>.json      the version that a suspended transaction would make
    <root>/_lakemerge/creations/<txn>        there while a transaction that makes the table is under way
    <root>/_lakemerge/rebuilds/<txn>         there while a transaction makes the table's metastore row anew
    <root>/_lakemerge/dropping               what a drop has still to delete
    <root>/_lakemerge/seen/<txn>             its time shows by when this version was settled
    <root>/_lakemerge/empty/<txn>/           holds nothing: removed partitions point here
"""

from __future__ import annotations

from dataclasses import dataclass

from lakemerge.kernel.table.definition import UNDECIDED

CONTROL = "_lakemerge"
#: The kinds of side data, each with a folder of its name.
SIDECARS = ("ledger", "consumed", "deltas", "files", "offsets", "quarantine")


@dataclass(frozen=True)
class Layout:
    """The paths of one table, all URIs below ``root`` (which has no slash at its end)."""

    root: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "root", self.root.rstrip("/"))

    @property
    def control(self) -> str:
        return f"{self.root}/{CONTROL}"

    @property
    def data(self) -> str:
        return f"{self.control}/data"

    def sidecars(self, kind: str) -> str:
        """The folder of side data of a kind, one of :data:`SIDECARS`."""
        return f"{self.control}/{kind}"

    @property
    def pins(self) -> str:
        return f"{self.control}/pins"

    @property
    def compactions(self) -> str:
        """The log of compactions."""
        return f"{self.control}/compactions"

    @property
    def commits(self) -> str:
        return f"{self.control}/commits"

    @property
    def open(self) -> str:
        return f"{self.control}/open"

    @property
    def staged(self) -> str:
        """What is suspended, or given up and left to be looked at."""
        return f"{self.control}/staged"

    @property
    def creations(self) -> str:
        return f"{self.control}/creations"

    @property
    def seen(self) -> str:
        """Marks whose time of change shows by when a version was surely settled."""
        return f"{self.control}/seen"

    @property
    def empty(self) -> str:
        return f"{self.control}/empty"

    @property
    def rebuilds(self) -> str:
        """Which transactions make the table's metastore row anew; below its default root, whatever its own root is."""
        return f"{self.control}/rebuilds"

    @property
    def dropping(self) -> str:
        """Holds the list of what a drop has still to delete; below the table's default root."""
        return f"{self.control}/dropping"

    def data_of(self, txn: str) -> str:
        return f"{self.data}/{txn}"

    def sidecar_of(self, kind: str, txn: str) -> str:
        return f"{self.sidecars(kind)}/{txn}"

    def manifest_of(self, txn: str) -> str:
        return f"{self.commits}/{txn}.json"

    def state_of(self, txn: str) -> str:
        """The whole state of the oldest version that vacuum has left, where its manifest does not hold it."""
        return f"{self.commits}/{txn}.state.json"

    def group_of(self, txn: str) -> str:
        """The group that a transaction's commit is part of. An older program looks here for the claim's manifest."""
        return f"{self.commits}/{txn}{UNDECIDED}.json"

    def seen_of(self, txn: str) -> str:
        return f"{self.seen}/{txn}"

    def heartbeat_of(self, txn: str) -> str:
        return f"{self.open}/{txn}"

    def staged_of(self, txn: str) -> str:
        return f"{self.staged}/{txn}.json"

    def creation_of(self, txn: str) -> str:
        return f"{self.creations}/{txn}"

    def rebuild_of(self, txn: str) -> str:
        return f"{self.rebuilds}/{txn}"

    def empty_of(self, txn: str) -> str:
        return f"{self.empty}/{txn}"

    def relative(self, location: str) -> str:
        """A location as a manifest holds it: relative to the root if it lies below that, otherwise unchanged.

        It is also unchanged if its first folder below the root has a colon: the text before the colon would be taken
        for a scheme.
        """
        prefix = f"{normal(self.root)}/"
        location = normal(location)
        below = location.removeprefix(prefix)
        return location if _has_scheme(below) else below

    def absolute(self, location: str) -> str:
        """The inverse of :meth:`relative`; the empty string stands for the root itself."""
        if not location:
            return self.root
        return location if _has_scheme(location) else f"{self.root}/{location}"

    def owns(self, location: str) -> bool:
        """Whether a location is one that lakemerge made."""
        return self.relative(location).startswith(f"{CONTROL}/")


def _has_scheme(location: str) -> bool:
    return ":" in location.partition("/")[0]


def normal(uri: str) -> str:
    """A URI in one spelling: ``file:///a/`` and ``file:/a`` are the same place."""
    scheme, found, rest = uri.partition("://")
    if found and rest.startswith("/"):
        uri = f"{scheme}:{rest}"
    return uri.rstrip("/")
