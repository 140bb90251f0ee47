"""Tables of tests: made, looked at as a plain reader does, and checked for what a crash may leave."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from lakemerge.kernel import (
    NAMED,
    HiveColumn,
    Kernel,
    Manifest,
    TableDefinition,
    TableName,
    Transaction,
    mark_folded,
    retire_folded,
)
from lakemerge.kernel import add_overlay as define_overlay
from lakemerge.kernel.maintenance.vacuum import vacuum
from lakemerge.kernel.ports.names import DEFAULT_PARTITION, partition_name, partition_values
from lakemerge.kernel.table.definition import new_partition, new_table
from lakemerge.kernel.table.layout import normal
from lakemerge.kernel.table.manifest import WHOLE_TABLE
from lakemerge.kernel.table.overlay import DELTAS, base_name, find_row
from lakemerge.kernel.table.side_tables import SIDE_TABLES
from lakemerge.kernel.table.state import TableState, state_of

COLUMNS = (HiveColumn("line", "string"),)
WIDER_COLUMNS = (*COLUMNS, HiveColumn("extra", "int"))
KEYS = (HiveColumn("p", "string"),)
COMMIT = "_commit"
COMMIT_KEYS = (*KEYS, HiveColumn(COMMIT, "bigint"))
OTHER_KEYS = (HiveColumn("q", "int"), HiveColumn("r", "string"))

NO_RETENTION = datetime.timedelta(0)

#: The texts of the files of each partition; of the whole table under the empty name.
Rows = dict[str, list[str]]


class Died(BaseException):
    """Stands for the end of a process."""


@dataclass(frozen=True)
class Picture:
    """What a reader sees of a table; the same for the same commit on another table."""

    columns: tuple[HiveColumn, ...]
    keys: tuple[HiveColumn, ...]
    rows: Rows
    rejected: tuple[str, ...] = ()
    is_view: bool = False
    deltas: tuple[str, ...] = ()


def stage(kernel: Kernel, txn: Transaction, rows: Mapping[str, Iterable[str]]) -> None:
    """Write one file a text into the stage directory and take it in; lakemerge never looks into files."""
    directory = txn.stage_directory
    for partition, texts in rows.items():
        folder = f"{directory}/{partition}" if partition else directory
        for number, text in enumerate(texts):
            kernel.files.write_text(f"{folder}/part-{number}.orc", text)
    txn.add_staged()


def create(kernel: Kernel, name: TableName, rows: Mapping[str, Iterable[str]]) -> int:
    """Create a table by a commit: unpartitioned if the only partition is the empty name."""
    keys = () if list(rows) == [WHOLE_TABLE] else KEYS
    txn = kernel.create(TableDefinition(name, COLUMNS, keys))
    stage(kernel, txn, rows)
    return txn.commit()


def create_appendable(kernel: Kernel, name: TableName, rows: Mapping[str, Iterable[str]]) -> int:
    """Create a table of the append kind; the partitions' names are those without the commit column."""
    txn = kernel.create(TableDefinition(name, COLUMNS, COMMIT_KEYS, commit_column=COMMIT))
    stage(kernel, txn, _of_this_commit(rows))
    return txn.commit()


def append(kernel: Kernel, name: TableName, rows: Mapping[str, Iterable[str]]) -> int:
    """Add rows to a table of the append kind."""
    txn = kernel.begin(name, "append")
    stage(kernel, txn, _of_this_commit(rows))
    return txn.commit()


def compact(kernel: Kernel, name: TableName) -> int:
    """Write the rows of each partition of a table of the append kind to one, that of its newest commit."""
    txn = kernel.begin(name, "compact", data_change=False)
    assert txn.base is not None
    names = list(txn.base.partitions)
    txn.read(names)
    groups: dict[str, list[tuple[int, str]]] = {}
    for partition in names:
        group, _, commit = partition.rpartition("/")
        groups.setdefault(group, []).append((int(commit.partition("=")[2]), partition))
    rows: Rows = {}
    for group, members in groups.items():
        found = [txn.base.partitions[partition] for _, partition in sorted(members)]
        files = [file for state in found for file in kernel.files.list(txn.layout.absolute(state.location))]
        rows[f"{group}/c={max(members)[0]}"] = [kernel.files.read_text(file.path) for file in files]
    stage(kernel, txn, rows)
    txn.remove({part for members in groups.values() for _, part in sorted(members)[:-1]})
    return txn.commit()


def rewrite(kernel: Kernel, name: TableName) -> int:
    """Write all rows of a partitioned table again, where they are."""
    with kernel.begin(name, "compact", data_change=False) as txn:
        rows = rows_of(kernel, name)
        txn.read(rows)
        stage(kernel, txn, rows)
        return txn.commit()


def _of_this_commit(rows: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
    return {f"{partition}/c={DEFAULT_PARTITION}": list(texts) for partition, texts in rows.items()}


def merge(kernel: Kernel, name: TableName, rows: Mapping[str, Iterable[str]]) -> int:
    """Replace the partitions of these names, having read them."""
    txn = kernel.begin(name, "merge")
    txn.read(rows)
    stage(kernel, txn, rows)
    return txn.commit()


def make_plain(kernel: Kernel, name: TableName, rows: Mapping[str, Iterable[str]]) -> None:
    """Make a table as Hive does, with files straight in its partitions' directories."""
    partitioned = list(rows) != [WHOLE_TABLE]
    root = kernel.default_root(name)
    definition = TableDefinition(name, COLUMNS, KEYS if partitioned else ())
    kernel.files.make_directory(root)
    kernel.metastore.create_table(replace(new_table(definition, root, root), parameters={}))
    for partition, texts in rows.items():
        for number, text in enumerate(texts):
            folder = f"{root}/{partition}" if partition else root
            kernel.files.write_text(f"{folder}/part-{number}.orc", text)
        if partitioned:
            add_plain_partition(kernel, name, partition, f"{root}/{partition}")


def add_plain_partition(kernel: Kernel, name: TableName, partition: str, location: str) -> None:
    """Register a partition as ``ALTER TABLE … ADD PARTITION … LOCATION`` does."""
    kernel.files.make_directory(location)
    row = new_partition(kernel.table(name), partition_values(partition), location)
    kernel.metastore.add_partitions(name, [row])


def locations(kernel: Kernel, name: TableName) -> dict[str, str]:
    """Where the metastore says that each partition is."""
    table = kernel.table(name)
    if not table.partitioned:
        return {WHOLE_TABLE: table.location}
    names = kernel.metastore.partition_names(table.name)
    columns = [column.name for column in table.partition_columns]
    return {
        partition_name(columns, partition.values): partition.location
        for partition in kernel.metastore.partitions(table.name, names)
    }


def rows_of(kernel: Kernel, name: TableName) -> Rows:
    """All texts, found as a plain reader finds them; partitions without files are left out."""
    found = {
        partition: sorted(
            kernel.files.read_text(entry.path)
            for entry in kernel.files.list(location)
            if not entry.is_directory and entry.name[:1] not in "_."
        )
        for partition, location in locations(kernel, name).items()
    }
    return {partition: texts for partition, texts in found.items() if texts}


def picture(kernel: Kernel, name: TableName) -> Picture | None:
    """What a reader sees; ``None`` where there is no such table, or of a dropped one only the view is left."""
    table = kernel.metastore.get_table(name)
    if table is None or find_row(kernel.metastore, name) is None:
        return None
    return Picture(
        table.columns,
        table.partition_columns,
        rows_of(kernel, name),
        rejected(kernel, name),
        table.kind == "VIRTUAL_VIEW",
        published(kernel, name, "deltas"),
    )


def rejected(kernel: Kernel, name: TableName) -> tuple[str, ...]:
    """The texts in the table's quarantine, as a reader of that table finds them; none where there is none."""
    return published(kernel, name, "quarantine")


def names_in_metastore(kernel: Kernel, name: TableName) -> set[str]:
    """All names that a table has in its schema: its own, and those of its base and its deltas, where it has them."""
    if not kernel.exists(name):
        return set()
    is_view = kernel.settled(name)[1].overlay is not None
    return {name.name, *((base_name(name).name, SIDE_TABLES[DELTAS].name_of(name).name) if is_view else ())}


def published(kernel: Kernel, name: TableName, kind: str) -> tuple[str, ...]:
    """The texts in a published table of side data; none where there is no such table."""
    table = SIDE_TABLES[kind].name_of(name)
    if kernel.metastore.get_table(table) is None:
        return ()
    places = locations(kernel, table).values()
    return tuple(
        sorted(kernel.files.read_text(file.path) for place in places for file in kernel.files.walk(place))
    )


def merged_deltas(kernel: Kernel, name: TableName) -> tuple[str, ...]:
    """The texts of the deltas that a view names, each of which must be there."""
    view, table = kernel.metastore.get_table(name), SIDE_TABLES[DELTAS].name_of(name)
    assert view is not None
    places = {part.partition("=")[2]: place for part, place in locations(kernel, table).items()}
    named = re.findall("'([^']+)'", view.view_text)
    return tuple(
        sorted(kernel.files.read_text(file.path) for one in named for file in kernel.files.walk(places[one]))
    )


def ingest(kernel: Kernel, name: TableName, rows: Mapping[str, Iterable[str]], text: str) -> int:
    """Add rows, and a rejected record and a list of files with them."""
    txn = kernel.begin(name, "ingest")
    stage(kernel, txn, _of_this_commit(rows))
    kernel.files.write_text(f"{txn.sidecar_directory('quarantine')}/part-0.orc", text)
    txn.add_sidecar("quarantine", txn.sidecar_directory("quarantine"))
    kernel.files.write_text(f"{txn.sidecar_directory('files')}/files.jsonl", text)
    known = txn.base.sidecars.get("files", ()) if txn.base else ()
    txn.set_sidecars("files", [*known, txn.sidecar_directory("files")])
    return txn.commit()


def add_overlay(kernel: Kernel, name: TableName, delta: str = "") -> int:
    """Put a view in the table's place; with a delta of this text, if it is given."""
    return begin_overlay(kernel, name, delta).commit()


def begin_overlay(kernel: Kernel, name: TableName, delta: str = "") -> Transaction:
    """As :func:`add_overlay`, but for the commit."""
    txn = kernel.begin(name, "write_mode")
    define_overlay(txn, f"select {NAMED}", ["line"])
    if delta:
        _write_delta(kernel, txn, delta)
    return txn


def add_delta(kernel: Kernel, name: TableName, text: str) -> int:
    """Add a delta of this text."""
    return begin_delta(kernel, name, text).commit()


def begin_delta(kernel: Kernel, name: TableName, text: str) -> Transaction:
    """As :func:`add_delta`, but for the commit."""
    txn = kernel.begin(name, "merge")
    _write_delta(kernel, txn, text)
    return txn


def _write_delta(kernel: Kernel, txn: Transaction, text: str) -> None:
    kernel.files.write_text(f"{txn.sidecar_directory('deltas')}/part-0.orc", text)
    txn.add_sidecar("deltas", txn.sidecar_directory("deltas"))


def move_into_base(kernel: Kernel, name: TableName, rows: Mapping[str, Iterable[str]]) -> int:
    """Give partitions the content that they have with the deltas."""
    txn = kernel.begin(name, "compact", data_change=False)
    txn.read(rows)
    stage(kernel, txn, rows)
    assert txn.base is not None
    mark_folded(txn, txn.base.sidecars.get("deltas", ()))
    return txn.commit()


def make_one_delta(kernel: Kernel, name: TableName) -> int:
    """A minor compaction: one delta, whose text tells of how many it is made."""
    with kernel.begin(name, "compact", data_change=False) as txn:
        assert txn.base is not None
        folders, directory = txn.base.sidecars["deltas"], txn.sidecar_directory("deltas")
        kernel.files.write_text(f"{directory}/part-0.orc", f"one of {len(folders)}")
        mark_folded(txn, folders, [directory])
        return txn.commit()


def retire_deltas(kernel: Kernel, name: TableName) -> int:
    """Take away the deltas that the view names no more."""
    with kernel.begin(name, "compact", data_change=False) as txn:
        assert txn.base is not None
        retire_folded(txn, txn.base.sidecars["folded_deltas"])
        return txn.commit()


def replay(kernel: Kernel, name: TableName, rows: Mapping[str, Iterable[str]], text: str) -> int:
    """Add rows, and put one text in the place of the quarantine."""
    txn = kernel.begin(name, "replay")
    stage(kernel, txn, _of_this_commit(rows))
    kernel.files.write_text(f"{txn.sidecar_directory('quarantine')}/part-0.orc", text)
    txn.set_sidecars("quarantine", [txn.sidecar_directory("quarantine")])
    return txn.commit()


def settled(kernel: Kernel, name: TableName) -> TableState:
    """The table's state, which must be settled."""
    state = state_of(kernel.table(name))
    assert state is not None, f"{name} was never adopted"
    assert state.claim is None, f"{name} is still claimed by {state.claim}"
    return state


def shown(kernel: Kernel, folder: str) -> list[str]:
    """What is in a folder, but for what a process has left that was killed while it wrote a file."""
    return [entry.name for entry in kernel.files.list(folder) if not entry.name.startswith(".")]


def assert_whole(kernel: Kernel, name: TableName) -> Manifest:
    """Check that the table is settled, that metastore, manifest and files agree, and that nothing is open."""
    state = settled(kernel, name)
    manifest = kernel.manifest(state)
    assert manifest.version == state.version
    expected = {
        part: normal(state.layout.absolute(entry.location)) for part, entry in manifest.partitions.items()
    }
    found = {part: normal(location) for part, location in locations(kernel, state.table.name).items()}
    assert found == expected
    for part, entry in manifest.partitions.items():
        assert kernel.external.examine(state.layout, expected[part]) == entry, f"files of {part!r}"
    assert state.table.columns == manifest.columns
    assert state.table.partition_columns == manifest.partition_columns
    if state.table.partitioned:
        for partition in kernel.metastore.partitions(state.table.name, list(found)):
            columns = [(column.name, column.type) for column in partition.storage.columns]
            assert columns == [(column.name, column.type) for column in manifest.columns]
    assert shown(kernel, state.layout.open) == [], "heartbeats of transactions that are no more"
    assert shown(kernel, state.layout.rebuilds) == [], "rebuilds that are over"
    for kinds in (("quarantine",), ("deltas", "folded_deltas")):
        table = SIDE_TABLES[kinds[0]].name_of(name)
        if kernel.metastore.get_table(table) is not None:
            folders = [folder for kind in kinds for folder in manifest.sidecars.get(kind, ())]
            wanted = {normal(state.layout.absolute(folder)) for folder in folders}
            assert {normal(place) for place in locations(kernel, table).values()} == wanted
    view = kernel.metastore.get_table(name)
    assert view is not None
    assert (view.kind == "VIRTUAL_VIEW") == (manifest.overlay is not None)
    if manifest.overlay is not None:
        assert view.view_text == manifest.overlay.naming(manifest.sidecars.get(DELTAS, ()))
    return manifest


def files_below(kernel: Kernel, root: str) -> set[str]:
    """All files below a directory that hold something."""
    return {normal(entry.path) for entry in kernel.files.walk(root)}


def assert_nothing_orphaned(kernel: Kernel, name: TableName) -> None:
    """Vacuum without retention, and check that no file stays but those that the newest manifest needs, and logs."""
    vacuum(kernel, name, retention=NO_RETENTION, dry_run=False, allow_short_retention=True)
    manifest = assert_whole(kernel, name)
    state = settled(kernel, name)
    needed = {normal(state.layout.manifest_of(state.txn)), normal(state.layout.seen_of(state.txn))}
    needed |= files_below(kernel, state.layout.compactions)  # a log, which outlasts what it tells of
    if manifest.group is not None:
        needed.add(normal(state.layout.group_of(state.txn)))
    if manifest.delta is not None:
        needed.add(normal(state.layout.state_of(state.txn)))
    for entry in manifest.partitions.values():
        needed |= files_below(kernel, state.layout.absolute(entry.location))
    for folder in (folder for folders in manifest.sidecars.values() for folder in folders):
        needed |= files_below(kernel, state.layout.absolute(folder))
    found = files_below(kernel, state.layout.root)
    assert found == needed, f"too many: {sorted(found - needed)}; too few: {sorted(needed - found)}"
