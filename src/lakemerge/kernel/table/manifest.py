"""The manifest: what describes one commit and the whole state that it leaves, and its JSON."""

from __future__ import annotations

import dataclasses
import datetime
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lakemerge.errors import CorruptTable, TableTooNew
from lakemerge.kernel.ports.filesystem import Fingerprint
from lakemerge.kernel.ports.metastore import HiveColumn
from lakemerge.kernel.table.definition import same_keys
from lakemerge.kernel.table.overlay import MERGE_ON_READ, Overlay, overlay_from

FORMAT = 1
#: The feature of a manifest that does not hold the whole state.
PARTITION_DELTAS = "partition_deltas"
#: The feature of a commit that is part of a group, which is finished as a whole.
GROUPS = "groups"
#: What this program knows of the features that a manifest may name; see docs/table-format.md.
READER_FEATURES: frozenset[str] = frozenset({PARTITION_DELTAS, MERGE_ON_READ})
WRITER_FEATURES: frozenset[str] = frozenset({MERGE_ON_READ, GROUPS})
#: The name under which a manifest keeps the one directory of an unpartitioned table.
WHOLE_TABLE = ""

# Operations that the kernel knows commits by. Writers choose other names for theirs, such as ``merge`` or ``append``.
#: A plain table's state becomes version 0.
ADOPTION = "adopt"
#: What other programs did is taken in.
FOREIGN = "foreign"
#: Rows are moved to fewer files.
COMPACTION = "compact"
#: Columns change, and the rows' other values stay as they are.
ALTERATION = "alter"
#: Readers get a view over the table, or the table itself again; the rows stay what they are.
WRITE_MODE = "write_mode"
#: Nothing changes but what a merge remembers beside the table.
LEDGER_RESET = "reset_ledger"
#: No row changes; a vacuum names transactions that it takes for dead, or removes deltas that the base holds.
FENCE = "vacuum"
#: Nothing changes; the commit fences the writer of an undecided group, which was taken for dead.
RELEASE = "release"


@dataclass(frozen=True)
class PartitionState:
    """Where a partition's files are and what they were when they were committed.

    Attributes:
        location: relative to the table's root, or a URI where it lies elsewhere.
        files: number of data files.
        bytes: their size together.
        digest: fingerprint of names, sizes and times.
    """

    location: str
    files: int
    bytes: int
    digest: str

    @property
    def fingerprint(self) -> Fingerprint:
        """Of the files that the version had in the directory."""
        return Fingerprint(self.files, self.bytes, self.digest)


@dataclass(frozen=True)
class Reference:
    """What a name stands for.

    Attributes:
        txn: the version's transaction.
        expires_at: ISO 8601 in UTC; from then on the name keeps the version no more. Empty: for good.
        table: the name of the table by which other programs read the version, in the same schema; empty where there is
            none.
    """

    txn: str
    expires_at: str = ""
    table: str = ""

    def holds_at(self, now: datetime.datetime) -> bool:
        """Whether it still keeps its version."""
        return not self.expires_at or datetime.datetime.fromisoformat(self.expires_at) > now


@dataclass(frozen=True)
class Delta:
    """How a manifest that holds only changes relates to the newest whole one.

    Attributes:
        whole: the transaction of the whole one.
        steps: how many manifests there are since, this one included.
        states: how many states of partitions they hold together.
    """

    whole: str
    steps: int
    states: int


@dataclass(frozen=True)
class Manifest:
    """One commit.

    Attributes:
        txn: the transaction's id, also the manifest's file name.
        version: the version that this commit makes.
        parent: the transaction id of the version before, ``None`` for the first.
        table_id: made when the table was created or adopted; guards against a table of the same name.
        operation: ``merge``, ``append``, ``replace``, ``adopt``, ``foreign``…
        partitions: the whole state, by partition name (``d=1/c=a%2Fb``; the empty name if unpartitioned).
        written: names of the partitions whose location this commit changed.
        removed: names of the partitions that this commit dropped.
        rewritten: those of the written and removed ones whose rows are as before, and only lie elsewhere.
        metrics: counts for people, such as ``inserted``.
        properties: what later commits need to know, such as the highest sequence.
        sidecars: folders of side data by kind, relative to the root, such as ``ledger``.
        side_data_touched: kinds of side data that this commit changed, each with the partitions that the change
            concerns; ``None`` where it may concern any.
        references: versions that have a name, by name; vacuum keeps what they need.
        fenced: transactions that were taken for dead and must not commit on this version or a later one.
        side_data_for: by kind of side data, what it was made for; see :meth:`Transaction.describe_side_data`.
        reader_features, writer_features: what a program must know to read this version, and to commit after it.
        committed_at: ISO 8601 in UTC; for people and retention, never for order.
        group: the id of the group, if the commit is one of several tables: the transaction of the table that decides.
        delta: how this manifest builds on a whole one, if its file holds only the partitions that changed; ``None`` if
            the file holds all.
        unread: the partitions that this commit changed without having read them; ``None`` for all.
        overlay: the view that readers see the table through; ``None`` where they read the table itself.
    """

    txn: str
    version: int
    parent: str | None
    table_id: str
    operation: str
    columns: tuple[HiveColumn, ...]
    partition_columns: tuple[HiveColumn, ...]
    file_format: str
    partitions: Mapping[str, PartitionState]
    written: tuple[str, ...]
    removed: tuple[str, ...]
    committed_at: str
    rewritten: tuple[str, ...] = ()
    metrics: Mapping[str, int] = field(default_factory=dict)
    properties: Mapping[str, Any] = field(default_factory=dict)
    sidecars: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    side_data_touched: Mapping[str, tuple[str, ...] | None] = field(default_factory=dict)
    references: Mapping[str, Reference] = field(default_factory=dict)
    fenced: tuple[str, ...] = ()
    side_data_for: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    reader_features: tuple[str, ...] = ()
    writer_features: tuple[str, ...] = ()
    writer: Mapping[str, str] = field(default_factory=dict)
    lease_seconds: int = 30
    group: str | None = None
    delta: Delta | None = None
    unread: tuple[str, ...] | None = None
    overlay: Overlay | None = None

    def to_json(self) -> str:
        """The manifest's text, with one member or item a line."""
        body = dataclasses.asdict(self)
        return json.dumps({"format": FORMAT, **body}, indent=1, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str, source: str) -> Manifest:
        """Read a manifest.

        Raises:
            CorruptTable: the text is no manifest.
            TableTooNew: its format, or a feature that its readers must know, is unknown to this program.
        """
        try:
            body = json.loads(text)
            found = body.pop("format")
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise _corrupt(source, f"{type(error).__name__}: {error}") from error
        if found != FORMAT:
            raise TableTooNew(
                expected=f"a manifest of format {FORMAT} in {source}",
                found=f"format {found}",
                action="A newer lakemerge wrote it: upgrade this one.",
            )
        try:
            body["columns"] = tuple(HiveColumn(**column) for column in body["columns"])
            body["partition_columns"] = tuple(HiveColumn(**column) for column in body["partition_columns"])
            body["partitions"] = states_of(body["partitions"])
            if "rewritten" not in body and body["operation"] == COMPACTION:
                body["rewritten"] = [*body["written"], *body["removed"]]  # manifests did not say so yet
            for name in ("written", "removed", "rewritten", "fenced", "reader_features", "writer_features"):
                body[name] = tuple(body.get(name, ()))
            body["sidecars"] = {kind: tuple(paths) for kind, paths in body["sidecars"].items()}
            body["references"] = {
                name: Reference(**reference) for name, reference in body.get("references", {}).items()
            }
            if body.get("unread") is not None:
                body["unread"] = tuple(body["unread"])
            body["side_data_touched"] = {
                kind: None if names is None else tuple(names)
                for kind, names in body.get("side_data_touched", {}).items()
            }
            if body.get("delta") is not None:
                body["delta"] = Delta(**body["delta"])
            body["overlay"] = overlay_from(body.get("overlay"))
            known = {field.name for field in dataclasses.fields(cls)}
            # unknown members are ignored; one that must not be ignored comes with a feature
            manifest = cls(**{name: value for name, value in body.items() if name in known})
        except (KeyError, TypeError, AttributeError) as error:
            raise _corrupt(source, f"{type(error).__name__}: {error}") from error
        _require_features(source, manifest.reader_features, READER_FEATURES, "read")
        return manifest

    def followed_by(self, *, txn: str, operation: str, committed_at: str, **changes: Any) -> Manifest:
        """The manifest of a commit on this version: it keeps the state, and nothing of what this version's commit did.

        Args:
            changes: members by name.
        """
        own: dict[str, Any] = {
            "written": (),
            "removed": (),
            "rewritten": (),
            "metrics": {},
            "side_data_touched": {},
            "fenced": (),
            "group": None,
            "writer_features": tuple(name for name in self.writer_features if name != GROUPS),
            "delta": None,
            "unread": None,
        }
        return dataclasses.replace(
            self,
            txn=txn,
            version=self.version + 1,
            parent=self.txn,
            operation=operation,
            committed_at=committed_at,
            **{**own, **changes},
        )

    def require_writer(self, source: str) -> None:
        """Make sure that this program may commit after this version. Raises TableTooNew."""
        _require_features(source, self.writer_features, WRITER_FEATURES, "written")

    @property
    def touched(self) -> frozenset[str]:
        """The partitions that are not where they were in the version before."""
        return frozenset(self.written) | frozenset(self.removed)

    @property
    def only_moves_rows(self) -> bool:
        """Whether the table's rows are those of the version before, in other files."""
        return bool(self.touched) and self.touched <= frozenset(self.rewritten)

    def same_shape(self, other: Manifest) -> bool:
        """Whether columns, partition columns and format are the same; comments do not matter."""
        return (
            same_keys(self.columns, other.columns)
            and same_keys(self.partition_columns, other.partition_columns)
            and self.file_format == other.file_format
        )

    @property
    def total_bytes(self) -> int:
        return sum(state.bytes for state in self.partitions.values())

    @property
    def total_files(self) -> int:
        return sum(state.files for state in self.partitions.values())


def states_of(body: Mapping[str, Mapping[str, Any]]) -> dict[str, PartitionState]:
    """Partitions' states as JSON has them. Raises TypeError for what is none."""
    return {name: PartitionState(**state) for name, state in body.items()}


def _require_features(source: str, wanted: tuple[str, ...], known: frozenset[str], done: str) -> None:
    unknown = sorted(set(wanted) - known)
    if unknown:
        raise TableTooNew(
            expected=f"{source} to need no feature that this lakemerge does not know to be {done}",
            found=", ".join(unknown),
            action="A newer lakemerge wrote it: upgrade this one.",
        )


def _corrupt(source: str, found: str) -> CorruptTable:
    return CorruptTable(
        expected=f"a manifest in {source}",
        found=found,
        action="Restore the file from a backup, or drop the lakemerge.* table properties to adopt the table afresh.",
    )
