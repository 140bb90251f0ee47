"""What simulated processes do to several tables at once: they append to lists, and read them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from lakemerge.errors import (
    ClaimHeld,
    CommitUnfinished,
    LakemergeError,
    TableNotFound,
    UnsupportedTable,
)
from lakemerge.kernel import (
    HiveColumn,
    Kernel,
    Manifest,
    TableDefinition,
    TableName,
    Transaction,
    as_of_group,
)
from lakemerge.kernel.maintenance.drop import drop
from lakemerge.kernel.ports.filesystem import FileSystem
from lakemerge.kernel.ports.names import DEFAULT_PARTITION
from lakemerge.kernel.table.layout import Layout
from lakemerge.kernel.table.overlay import DELTAS
from simulation.histories import Elements, Observed
from simulation.operations import COLUMNS, COMMIT_COLUMN, KEYS, OTHER_KEYS, FilesGone, Model, Operation, read
from simulation.overlays import deltas_of, merged
from simulation.refusals import REFUSED

_PARTITIONS = 3
LIST_KEYS = tuple(f"k{number}" for number in range(5))
#: Lists by their keys.
Lists = dict[str, Elements]


class History(list[Observed]):
    """All that the processes of a run have seen."""

    def acknowledged(self) -> frozenset[str]:
        """What is known to stand by now."""
        return frozenset(one.label for one in self if one.outcome == "committed")


@dataclass
class Transfer(Operation):
    """Appends to lists of one or several tables, all of them or none.

    Attributes:
        appends: by table, the keys of the lists.
        whole: tables that are replaced as a whole, with other partition columns where they have any.
        definitions: of the tables, for those that are not there.
        history: gets what it sees.
        versions: that were made, by transaction, when it is acknowledged.
        labels: of what was seen, by transaction.
        waited: whether it has given up because another writer held a claim for all that time.
        refused: a table that gets a comment which the metastore may refuse.
    """

    appends: Mapping[TableName, tuple[str, ...]] = field(default_factory=dict)
    whole: frozenset[TableName] = frozenset()
    definitions: Mapping[TableName, TableDefinition] = field(default_factory=dict)
    history: History = field(default_factory=History)
    versions: dict[str, int] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    waited: bool = False
    refused: TableName | None = None

    def apply(self, model: Model) -> None:
        raise AssertionError("its tables are checked by their lists")

    def attempt(self, kernel: Kernel) -> int | None:
        seen = Observed(f"{self.label}.{len(self.txns)}")
        self.history.append(seen)
        opened: list[Transaction] = []
        try:
            for name in self.appends:
                self._work(kernel, name, seen, opened)
                self._is_staged(kernel, opened[-1], seen)
            self._commit(kernel, opened, seen)
        except (LakemergeError, FilesGone) as error:
            self.waited = type(error) is ClaimHeld
            if seen.outcome == "unknown" and not any(one.state == "in doubt" for one in opened):
                seen.outcome = "aborted"
            raise
        finally:
            for one in opened:
                self._end(one)
        return None

    def _is_staged(self, kernel: Kernel, transaction: Transaction, seen: Observed) -> None:
        """What is done when all is staged of one table."""

    def _end(self, transaction: Transaction) -> None:
        transaction.abort()

    def _commit(self, kernel: Kernel, opened: list[Transaction], seen: Observed) -> None:
        self.versions = {}
        try:
            made = kernel.commit_together(opened)
        except CommitUnfinished:
            seen.outcome = "committed"
            raise
        self.versions = {one.txn: made[one.name] for one in opened}
        seen.outcome = "committed"

    def _work(self, kernel: Kernel, name: TableName, seen: Observed, opened: list[Transaction]) -> None:
        values = {
            key: tuple(f"{seen.label}/{name.name}{key}{number}" for number in range(1 + int(key[1:]) % 2))
            for key in self.appends[name]
        }
        if not kernel.exists(name):
            transaction = self.began(kernel.create(self.definitions[name]))
            opened.append(transaction)
            self._stage_first(kernel, transaction, name, values)
            table_id = transaction._commit.table_id
        else:
            transaction = self.began(kernel.begin(name, "transfer"))
            opened.append(transaction)
            assert transaction.base is not None
            table_id = transaction.base.table_id
            found: Lists = {}
            if transaction.commit_column:
                _stage(kernel, transaction, _parts(values, _new_partition))
            elif transaction.overlay is not None:
                found = self._add_delta(kernel, transaction, values)
            else:
                found = self._rewrite(kernel, transaction, name, values)
            seen.reads.update({(table_id, key): elements for key, elements in found.items()})
        if name == self.refused:
            transaction.set_parameters({"comment": REFUSED})
        self.labels[transaction.txn] = seen.label
        seen.appends.update({(table_id, key): one for key, one in values.items()})

    def _stage_first(self, kernel: Kernel, transaction: Transaction, name: TableName, values: Lists) -> None:
        keys = self.definitions[name].partition_columns
        place = _new_partition if transaction.commit_column else partial(_partition_of, keys=keys)
        _stage(kernel, transaction, _parts(values, place))

    def _add_delta(self, kernel: Kernel, transaction: Transaction, values: Lists) -> Lists:
        """Read the lists as a view shows them, and write those that are appended to beside the base."""
        base = transaction.base
        assert base is not None
        touched = sorted({_partition_of(key, base.partition_columns) for key in values})
        transaction.read(touched)
        transaction.read_side_data(DELTAS)
        base = transaction.base
        assert base is not None
        stored = [row for part in touched for row in _content(kernel, transaction.layout, base, part)]
        deltas = deltas_of(kernel, transaction.layout, _folders(base))
        shown = lists_of(merged(stored, deltas))
        found = {key: shown.get(key, ()) for key in values}
        rows = [[key, 0, [*found[key], *values[key]], base.version + 1] for key in sorted(values)]
        directory = transaction.sidecar_directory(DELTAS)
        kernel.files.write_text(f"{directory}/part-0.orc", json.dumps(rows))
        transaction.add_sidecar(DELTAS, directory)
        return found

    def _rewrite(self, kernel: Kernel, transaction: Transaction, name: TableName, values: Lists) -> Lists:
        """Read the lists' partitions, and write them with what is appended."""
        base = transaction.base
        assert base is not None
        keys, all_of_it = base.partition_columns, name in self.whole
        transaction.read(None if all_of_it else {_partition_of(key, keys) for key in values})
        base = transaction.base
        assert base is not None
        if base.partition_columns != keys:
            keys = base.partition_columns
            transaction.read(None if all_of_it else {_partition_of(key, keys) for key in values})
        touched = set(base.partitions) if all_of_it else {_partition_of(key, keys) for key in values}
        rows = [row for part in sorted(touched) for row in _content(kernel, transaction.layout, base, part)]
        found = lists_of(rows)
        others = [row for row in rows if not _is_list(row)]  # of other programs
        after = {key: (*found.get(key, ()), *values.get(key, ())) for key in {*found, *values}}
        if all_of_it:
            transaction.replace_all()
            if keys:
                keys = OTHER_KEYS if keys == KEYS else KEYS
                transaction.set_schema(COLUMNS, keys)
        parts: dict[str, list[Any]] = {}
        for row in (*_rows(after), *others):
            parts.setdefault(_partition_of(row[0], keys), []).append(row)
        _stage(kernel, transaction, parts)
        return {key: found.get(key, ()) for key in {*found, *values}}


@dataclass
class Look(Operation):
    """A pinned read of several tables, or of what there is of them."""

    names: tuple[TableName, ...] = ()
    history: History = field(default_factory=History)

    def apply(self, model: Model) -> None:
        raise AssertionError("it makes no version")

    def attempt(self, kernel: Kernel) -> int | None:
        names = list(self.names)
        seen = Observed(self.label, pinned=True, after=self.history.acknowledged())
        while names:
            try:
                found = as_of_group(kernel, names)
                break
            except (TableNotFound, UnsupportedTable) as error:
                names = [name for name in names if str(name) not in error.expected]
        else:
            return None
        for name, manifest in found.items():
            layout = Layout(kernel.table(name).parameters["lakemerge.root"])
            rows = lists_in(kernel.files, layout, manifest)
            seen.reads.update({(manifest.table_id, key): rows.get(key, ()) for key in LIST_KEYS})
        seen.outcome = "committed"
        self.history.append(seen)
        return None


@dataclass
class DropOne(Operation):
    """A table with all its versions."""

    def apply(self, model: Model) -> None:
        raise AssertionError("it makes no version")

    def attempt(self, kernel: Kernel) -> int | None:
        drop(kernel, self.table)
        return None


# -- rows --------------------------------------------------------------------------------------


def lists_of(rows: Iterable[Any]) -> Lists:
    """The lists that rows hold, those of one key put together in order."""
    found: Lists = {}
    for row in rows:
        if _is_list(row):
            found[row[0]] = (*found.get(row[0], ()), *row[-1])
    return found


def _is_list(row: Any) -> bool:
    """Whether a row is a key and its list; between them, rows that were in a delta have a sequence."""
    return isinstance(row, list) and isinstance(row[-1], list)


def lists_in(files: FileSystem, layout: Layout, manifest: Manifest, *, any_files: bool = False) -> Lists:
    """The lists of a version.

    Args:
        any_files: whether other programs may have taken files away.

    Raises:
        FilesGone: some are.
    """
    rows: list[Any] = []
    for name in sorted(manifest.partitions, key=_commit_of):
        state = manifest.partitions[name]
        rows += _rows_below(files, layout.absolute(state.location), 0 if any_files else state.files)
    deltas = [row for folder in _folders(manifest) for row in _rows_below(files, layout.absolute(folder), 1)]
    return lists_of(merged(rows, deltas))


def _rows_below(files: FileSystem, location: str, least: int) -> list[Any]:
    """The rows of a directory's files, of which there are so many. Raises FilesGone."""
    entries = [one for one in files.list(location) if one.name[:1] not in "_."]
    if len(entries) < least:
        raise FilesGone
    rows: list[Any] = []
    for entry in entries:
        try:
            rows += json.loads(files.read_text(entry.path))
        except FileNotFoundError as error:
            raise FilesGone from error
    return rows


def _folders(manifest: Manifest) -> tuple[str, ...]:
    """The deltas that a view of this version merges with the base."""
    return manifest.sidecars.get(DELTAS, ())


def _commit_of(partition: str) -> int:
    column, _, value = partition.rpartition("/")[2].partition("=")
    return int(value) if column == COMMIT_COLUMN else 0


def _rows(lists: Lists) -> list[Any]:
    return [[key, list(elements)] for key, elements in sorted(lists.items())]


def _parts(lists: Lists, place: Callable[[str], str]) -> dict[str, list[Any]]:
    parts: dict[str, list[Any]] = {}
    for row in _rows(lists):
        parts.setdefault(place(row[0]), []).append(row)
    return parts


def _new_partition(key: str) -> str:
    return f"p={int(key[1:]) % _PARTITIONS}/c={DEFAULT_PARTITION}"


def _partition_of(key: str, keys: Iterable[HiveColumn]) -> str:
    number = int(key[1:]) % _PARTITIONS
    return "/".join(f"{column.name}={number}" for column in keys)


def _content(kernel: Kernel, layout: Layout, manifest: Manifest, name: str) -> list[Any]:
    state = manifest.partitions.get(name)
    rows: list[Any] = []
    for entry in kernel.files.list(layout.absolute(state.location)) if state else ():
        if not entry.is_directory and entry.name[:1] not in "_.":
            rows += json.loads(read(kernel, entry.path))
    return rows


def _stage(kernel: Kernel, transaction: Transaction, parts: Mapping[str, list[Any]]) -> None:
    directory = transaction.stage_directory
    for number, (name, rows) in enumerate(parts.items()):
        folder = f"{directory}/{name}" if name else directory
        kernel.files.write_text(f"{folder}/part-{number}.orc", json.dumps(rows))
    transaction.add_staged()
