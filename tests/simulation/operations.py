"""What simulated writers do, and what each of it means for the rows of a table."""

from __future__ import annotations

import datetime
import json
import random
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from lakemerge.errors import (
    CommitConflict,
    CommitUnfinished,
    LakemergeError,
    TableNotFound,
)
from lakemerge.kernel import HiveColumn, Kernel, Manifest, TableDefinition, TableName, Transaction
from lakemerge.kernel.maintenance.vacuum import vacuum
from lakemerge.kernel.ports.names import DEFAULT_PARTITION
from lakemerge.kernel.table.layout import Layout
from lakemerge.kernel.table.manifest import WHOLE_TABLE

COLUMNS = (HiveColumn("line", "string"),)
KEYS = (HiveColumn("p", "string"),)
OTHER_KEYS = (HiveColumn("q", "string"),)
COMMIT_KEYS = (HiveColumn("p", "string"), HiveColumn("_commit", "bigint"))
COMMIT_COLUMN = "_commit"
_PARTITIONS = 3
#: The partition that other programs add.
BY_HAND = 9


class FilesGone(Exception):
    """What is being read is dropped at this moment, as an engine that reads it finds out."""


#: A key's change: key, sequence, and value (``None`` deletes). The value of a partial one has two parts, ``a/b``, of
#: which an empty one leaves what is stored.
Change = tuple[str, int, "str | None"]


def drawn_change(dice: random.Random, keys: int) -> Change:
    """A change of one of so many keys. Of a key and a sequence there is one value."""
    key, sequence = f"k{dice.randrange(keys)}", dice.randrange(1, 40)
    return key, sequence, None if (sequence + int(key[1:])) % 3 == 0 else f"{key} at {sequence}"


def partially(change: Change) -> Change:
    """A change of some columns only; of a key and a sequence always of the same ones."""
    key, sequence, value = change
    parts = (f"{value}/{value}", f"{value}/", f"/{value}")
    return key, sequence, None if value is None else parts[(sequence + int(key[1:])) // 3 % 3]


def is_partial(change: Change) -> bool:
    """Whether what it makes of a row hangs on what is stored."""
    return "/" in (change[2] or "")


def folded(stored: str | None, value: str) -> str:
    """A value with what it leaves alone taken from the stored one, if there is one."""
    if "/" not in value:
        return value
    before = stored.split("/") if stored and "/" in stored else [stored or ""] * 2
    return "/".join(new or old for new, old in zip(value.split("/"), before, strict=True))


@dataclass
class Model:
    """The rows of a table as they must be.

    Attributes:
        keyed: value and sequence by key.
        tombstones: the highest sequence of a delete by key.
        facts: rows without keys.
        truncated: no change at or before this sequence counts.
        past: what they were after each commit, by its transaction.
    """

    keyed: dict[str, tuple[int, str]] = field(default_factory=dict)
    tombstones: dict[str, int] = field(default_factory=dict)
    facts: list[str] = field(default_factory=list)
    truncated: int = -1
    past: dict[str, Model] = field(default_factory=dict)

    def copy(self) -> Model:
        return Model(dict(self.keyed), dict(self.tombstones), list(self.facts), self.truncated)

    def known(self, key: str) -> int:
        stored = self.keyed[key][0] if key in self.keyed else -1
        return max(stored, self.tombstones.get(key, -1), self.truncated)

    def rows(self) -> list[str]:
        keyed = [[key, sequence, value] for key, (sequence, value) in self.keyed.items()]
        return sorted(json.dumps(row) for row in (*keyed, *self.facts))


@dataclass
class Operation(ABC):
    """Something that a process does to a table.

    Attributes:
        txns: the transactions by which it was tried.
        outcome: ``pending``, ``acknowledged``, ``unfinished`` (committed, says the kernel), ``failed`` (not committed,
            says the kernel) or ``doubtful``.
        version: that it made, as acknowledged.
        decided: the transaction that made it, when it is applied.
        found_files_gone: whether files were gone that it was about to read.
        took: the seconds until it found that out.
        error: how it failed.
        transaction: of the last try.
    """

    table: TableName
    label: str
    txns: list[str] = field(default_factory=list)
    outcome: str = "pending"
    version: int | None = None
    decided: str = ""
    found_files_gone: bool = False
    took: float = 0.0
    error: str = ""
    transaction: Transaction | None = field(default=None, repr=False)

    @abstractmethod
    def attempt(self, kernel: Kernel) -> int | None:
        """Try once; the version that was made, ``None`` for none."""

    @abstractmethod
    def apply(self, model: Model) -> None:
        """What a commit of it does to the rows."""

    def run(self, kernel: Kernel) -> None:
        """Try until it is done, or fails for good."""
        for _ in range(20):
            self.transaction, began = None, kernel.clock.monotonic()
            try:
                self.version = self.attempt(kernel)
                self.outcome = "acknowledged"
            except CommitConflict:
                continue
            except CommitUnfinished as error:
                self.outcome, self.error = "unfinished", str(error).replace("\n", " ")
            except FilesGone:
                self.outcome, self.found_files_gone = "failed", True
                self.took = kernel.clock.monotonic() - began
            except LakemergeError as error:
                self.error = str(error).replace("\n", " ")
                doubtful = self.transaction is not None and self.transaction.state == "in doubt"  # type: ignore[unreachable]
                self.outcome = "doubtful" if doubtful else "failed"
            return
        self.outcome = "failed"

    def misses_files(self, retention: datetime.timedelta, taken: Collection[str]) -> bool:
        """Whether files were gone that stay for this long, and that nobody else has ``taken``."""
        return self.found_files_gone and not taken and self.took <= retention.total_seconds()

    def began(self, transaction: Transaction) -> Transaction:
        self.txns.append(transaction.txn)
        self.transaction = transaction
        return transaction

    def __str__(self) -> str:
        return f"{type(self).__name__} {self.label} on {self.table}: {self.outcome} {self.version or ''} {self.txns}"


@dataclass
class Merge(Operation):
    """Changes by key with a ledger of deletes, as the adapter merges them.

    Attributes:
        truncate: a sequence at or before which all is gone.
    """

    changes: tuple[Change, ...] = ()
    truncate: int = -1

    def apply(self, model: Model) -> None:
        if self.truncate >= 0:
            model.truncated = max(model.truncated, self.truncate)
            model.keyed = {key: one for key, one in model.keyed.items() if one[0] > model.truncated}
        for key, sequence, value in sorted(self.changes, key=lambda change: change[1]):
            if sequence <= model.known(key):
                continue
            if value is None:
                model.keyed.pop(key, None)
                model.tombstones[key] = sequence
            else:
                stored = model.keyed[key][1] if key in model.keyed else None
                model.keyed[key] = (sequence, folded(stored, value))

    def attempt(self, kernel: Kernel) -> int | None:
        transaction = self.began(kernel.begin(self.table, "merge"))
        try:
            return self._merge(kernel, transaction)
        finally:
            transaction.abort()

    def _merge(self, kernel: Kernel, transaction: Transaction) -> int | None:
        keys = transaction.base.partition_columns if transaction.base else ()
        touched = {_partition_of(key, keys) for key, _, _ in self.changes}
        transaction.read(None if self.truncate >= 0 else touched)
        base = transaction.base
        assert base is not None
        if base.partition_columns != keys:
            touched = {_partition_of(key, base.partition_columns) for key, _, _ in self.changes}
            transaction.read(touched)
        concerns = None if self.truncate >= 0 else touched
        transaction.read_side_data("ledger", concerns)
        wanted = set(base.partitions) if self.truncate >= 0 else touched
        model = _ledger(kernel, transaction)
        before = {name: _content(kernel, transaction.layout, base, name) for name in wanted | touched}
        for rows in before.values():
            model.keyed.update({key: (sequence, value) for key, sequence, value in rows})
        known = model.copy()
        self.apply(model)
        after: dict[str, list[Any]] = {name: [] for name in before}
        for key, (sequence, value) in model.keyed.items():
            after.setdefault(_partition_of(key, base.partition_columns), []).append([key, sequence, value])
        changed = {name for name in after if sorted(after[name]) != sorted(before.get(name, []))}
        remembers = model.tombstones != known.tombstones or model.truncated != known.truncated
        if not changed and not remembers:
            return None
        if changed:
            _stage(kernel, transaction, {name: after[name] for name in changed if after[name]}, base)
        transaction.remove({name for name in changed if not after[name] and name != WHOLE_TABLE})
        if remembers:
            _remember(kernel, transaction, model, concerns)
        count(transaction, sum(len(after[name]) - len(before.get(name, [])) for name in changed))
        return transaction.commit()


def _ledger(kernel: Kernel, transaction: Transaction) -> Model:
    model = Model()
    base = transaction.base
    for folder in base.sidecars.get("ledger", ()) if base else ():
        body = json.loads(read(kernel, f"{transaction.layout.absolute(folder)}/ledger.json"))
        model.truncated = max(model.truncated, body["truncated"])
        for key, sequence in body["deletes"].items():
            model.tombstones[key] = max(sequence, model.tombstones.get(key, -1))
    return model


def _remember(kernel: Kernel, transaction: Transaction, model: Model, concerns: set[str] | None) -> None:
    directory = transaction.sidecar_directory("ledger")
    body = {"deletes": model.tombstones, "truncated": model.truncated}
    kernel.files.write_text(f"{directory}/ledger.json", json.dumps(body))
    base = transaction.base
    if base is not None and len(base.sidecars.get("ledger", ())) >= 2:
        transaction.set_sidecars("ledger", [directory], concerns=concerns)
    else:
        transaction.add_sidecar("ledger", directory, concerns=concerns)


@dataclass
class Append(Operation):
    """Rows in partitions of their own."""

    def apply(self, model: Model) -> None:
        model.facts.append(self.label)

    def attempt(self, kernel: Kernel) -> int | None:
        transaction = self.began(kernel.begin(self.table, "append"))
        try:
            rows = {f"p={ord(self.label[-1]) % 2}/c={DEFAULT_PARTITION}": [self.label]}
            _stage(kernel, transaction, rows, transaction.base)
            count(transaction, 1)
            return transaction.commit()
        finally:
            transaction.abort()


@dataclass
class Rewrite(Operation):
    """All rows by other partition columns, having read them; none of them changes."""

    def apply(self, model: Model) -> None:
        return

    def attempt(self, kernel: Kernel) -> int | None:
        transaction = self.began(kernel.begin(self.table, "replace"))
        try:
            transaction.read()
            transaction.read_side_data("ledger")
            base = transaction.base
            assert base is not None
            rows = [
                row for name in base.partitions for row in _content(kernel, transaction.layout, base, name)
            ]
            keys = self.keys(base)
            sidecars = base.sidecars
            transaction.replace_all()
            transaction.set_schema(COLUMNS, keys)
            for kind, folders in sidecars.items():
                transaction.set_sidecars(kind, [transaction.layout.absolute(one) for one in folders])
            parts: dict[str, list[Any]] = {}
            for row in rows:
                parts.setdefault(_partition_of(row[0], keys), []).append(row)
            _stage(kernel, transaction, parts, None, keys)
            transaction.properties = {"rows": len(rows)}
            return transaction.commit()
        finally:
            transaction.abort()

    def keys(self, base: Manifest) -> tuple[HiveColumn, ...]:
        """The columns to partition by."""
        return OTHER_KEYS if base.partition_columns == KEYS else KEYS


@dataclass
class Flatten(Rewrite):
    """All rows by partitions where there were none, or the other way round."""

    def keys(self, base: Manifest) -> tuple[HiveColumn, ...]:
        return () if base.partition_columns else KEYS


@dataclass
class Replace(Operation):
    """Everything replaced, unread."""

    def apply(self, model: Model) -> None:
        model.keyed, model.tombstones, model.truncated = {"k0": (0, self.label)}, {}, -1

    def attempt(self, kernel: Kernel) -> int | None:
        transaction = self.began(kernel.begin(self.table, "replace"))
        try:
            keys = transaction.base.partition_columns if transaction.base else ()
            transaction.replace_all()
            rows = {_partition_of("k0", keys): [["k0", 0, self.label]]}
            _stage(kernel, transaction, rows, None, keys)
            transaction.properties = {"rows": 1}
            return transaction.commit()
        finally:
            transaction.abort()


@dataclass
class Overwrite(Operation):
    """One partition replaced, unread; of an unpartitioned table all rows. The ledger stays."""

    number: int = 0
    whole: bool = False

    def apply(self, model: Model) -> None:
        kept = {key: one for key, one in model.keyed.items() if partition_number(key) != self.number}
        model.keyed = {} if self.whole else kept
        model.keyed[f"k{self.number}"] = (0, self.label)

    def attempt(self, kernel: Kernel) -> int | None:
        transaction = self.began(kernel.begin(self.table, "insert_overwrite"))
        try:
            base = transaction.base
            assert base is not None
            self.whole = not base.partition_columns
            name = _partition_of(f"k{self.number}", base.partition_columns)
            _stage(kernel, transaction, {name: [[f"k{self.number}", 0, self.label]]}, base)
            # how many rows were in a partition's place is not known
            transaction.properties = {"rows": 1} if self.whole else {}
            return transaction.commit()
        finally:
            transaction.abort()


@dataclass
class Create(Operation):
    """The table, with a row."""

    definition: TableDefinition | None = None

    def apply(self, model: Model) -> None:
        model.keyed, model.tombstones, model.facts, model.truncated = {}, {}, [], -1
        if self.definition is not None and not self.definition.commit_column:
            model.keyed["k0"] = (0, self.label)

    def attempt(self, kernel: Kernel) -> int | None:
        assert self.definition is not None
        transaction = self.began(kernel.create(self.definition))
        try:
            keys = self.definition.partition_columns
            rows: dict[str, list[Any]] = {_partition_of("k0", keys): [["k0", 0, self.label]]}
            if self.definition.commit_column:
                rows = {}
            _stage(kernel, transaction, rows, None, keys)
            transaction.properties = {"rows": len(rows)}
            return transaction.commit()
        finally:
            transaction.abort()


@dataclass
class Upkeep(Operation):
    """Recovery, or vacuum; no rows change by it."""

    action: str = "vacuum"
    retention: Any = None

    def apply(self, model: Model) -> None:
        raise AssertionError("it makes no version of its own")

    def attempt(self, kernel: Kernel) -> int | None:
        watched: Any = kernel.metastore.inner  # type: ignore[attr-defined]
        watched.pointers.begins(kernel.host.owner().pid)
        try:
            if self.action == "recover":
                kernel.recover(self.table)
            else:
                vacuum(
                    kernel, self.table, retention=self.retention, dry_run=False, allow_short_retention=True
                )
        except TableNotFound:
            return None
        return None


def count(transaction: Transaction, added: int) -> None:
    """Let a commit say how many rows there are, if the version that it was made on does."""
    assert transaction.base is not None
    before = transaction.base.properties.get("rows")
    transaction.properties = {} if before is None else {"rows": before + added}


def partition_number(key: str) -> int:
    """The partition that a key belongs to; a key ``h…`` to the one that other programs add by hand."""
    return BY_HAND if key.startswith("h") else int(key[1:]) % _PARTITIONS


def _partition_of(key: str, keys: Iterable[HiveColumn]) -> str:
    number = partition_number(key)
    names = [column.name for column in keys]
    return "/".join(f"{name}={number}" for name in names)


def _content(kernel: Kernel, layout: Layout, manifest: Manifest, name: str) -> list[Any]:
    state = manifest.partitions.get(name)
    rows: list[Any] = []
    if state is not None:
        for entry in kernel.files.list(layout.absolute(state.location)):
            if not entry.is_directory and entry.name[:1] not in "_.":
                rows += json.loads(read(kernel, entry.path))
    return rows


def read(kernel: Kernel, path: str) -> str:
    """The text of a file, as an engine reads it. Raises FilesGone."""
    try:
        return kernel.files.read_text(path)
    except FileNotFoundError as error:
        raise FilesGone from error


def _stage(
    kernel: Kernel,
    transaction: Transaction,
    rows: Mapping[str, list[Any]],
    base: Manifest | None,
    keys: tuple[HiveColumn, ...] = (),
) -> None:
    directory = transaction.stage_directory
    for name, content in rows.items():
        folder = f"{directory}/{name}" if name else directory
        kernel.files.write_text(f"{folder}/part-0.orc", json.dumps(content))
    partitioned = base.partition_columns if base else keys
    if rows or not partitioned:
        transaction.add_staged()
