"""Tables and changes that come from elsewhere: adopting a plain table, and what other programs wrote since."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from lakemerge.errors import ForeignWrite, UnsupportedTable
from lakemerge.kernel.ports import Ports
from lakemerge.kernel.ports.filesystem import Fingerprint
from lakemerge.kernel.ports.metastore import HivePartition, HiveTable, Refused
from lakemerge.kernel.ports.names import TableName, partition_name
from lakemerge.kernel.ports.system import new_transaction_id, timestamp
from lakemerge.kernel.protocol.lease import Heartbeats
from lakemerge.kernel.protocol.versions import Versions, lost_race
from lakemerge.kernel.settings import Policy
from lakemerge.kernel.table.definition import (
    ADOPTED_ROW,
    ROOT,
    TABLE_ID,
    TRANSACTION,
    VERSION,
    check_supported,
    file_format_of,
    settled_value,
    with_statistics,
)
from lakemerge.kernel.table.layout import Layout, normal
from lakemerge.kernel.table.manifest import ADOPTION, FOREIGN, WHOLE_TABLE, Manifest, PartitionState
from lakemerge.kernel.table.manifests import read_manifest, write_manifest
from lakemerge.kernel.table.spark_schema import spelling_of, with_spelling
from lakemerge.kernel.table.state import TableState

_LOG = logging.getLogger("lakemerge")
# So many partitions are asked for by one call, where only their locations are of interest.
_BATCH = 1000


@dataclass(frozen=True)
class Found:
    """What a table's partitions really are.

    Attributes:
        present: by partition name, as the metastore and the file system have it.
        absent: partitions of the manifest that the metastore no longer has.
        strays: partitions that a commit has registered, or emptied, and that no version has.
    """

    present: Mapping[str, PartitionState]
    absent: tuple[str, ...]
    strays: tuple[str, ...] = ()


class ExternalChanges:
    """Looks for what lakemerge did not write, and takes it in."""

    def __init__(
        self, ports: Ports, versions: Versions, heartbeats: Heartbeats, writer: Mapping[str, str]
    ) -> None:
        """
        Args:
            writer: who takes the changes in, for the manifests.
        """
        self._metastore = ports.metastore
        self._files = ports.files
        self._clock = ports.clock
        self._host = ports.host
        self._versions = versions
        self._heartbeats = heartbeats
        self._writer = writer

    def adopt(self, table: HiveTable) -> bool:
        """Make a plain table's present state its version 0. Nothing of it is moved.

        Returns:
            Whether this call did it; false when another writer was faster.

        Raises:
            UnsupportedTable: it is no plain ORC or Parquet table.
        """
        check_supported(table)
        if [column.type for column in table.columns] == ["array<string>"] and table.columns[0].name == "col":
            raise UnsupportedTable(
                expected=f"{table.name} to have its columns in the metastore",
                found="a Spark data source table whose types Hive cannot hold",
                action="Copy its rows to a table of other types first.",
            )
        layout = Layout(table.location)
        names = self._metastore.partition_names(table.name) if table.partitioned else [WHOLE_TABLE]
        manifest = Manifest(
            txn=new_transaction_id(self._clock, self._host),
            version=0,
            parent=None,
            table_id=self._host.token(),
            operation=ADOPTION,
            columns=table.columns,
            partition_columns=table.partition_columns,
            file_format=file_format_of(table),
            partitions=self._look(table, layout, names),
            written=(),
            removed=(),
            committed_at=timestamp(self._clock),
            writer=self._writer,
        )
        write_manifest(self._files, layout, manifest, None)
        # Spark's own description of the table would hide what the metastore says from now on, except for names' case
        parameters = {
            key: value
            for key, value in table.parameters.items()
            if not key.startswith(("spark.sql.sources.", "spark.sql.partitionProvider"))
        }
        done = self._versions.adopt(
            with_spelling(replace(table, parameters=parameters), spelling_of(table)),
            {
                VERSION: settled_value(0, manifest.table_id),
                TRANSACTION: manifest.txn,
                ROOT: layout.root,
                TABLE_ID: manifest.table_id,
                ADOPTED_ROW: str(table.created),
            },
        )
        if done:
            _LOG.info(
                "%s is adopted as version 0 (%d partitions, %d files)",
                table.name,
                len(manifest.partitions),
                manifest.total_files,
            )
        # otherwise the manifest stays for vacuum: a lost reply may hide that it is needed
        return done

    def inspect(
        self, state: TableState, manifest: Manifest, names: Iterable[str] | None, *, missing: bool = False
    ) -> Found:
        """What the partitions of these names (``None``: all) are now.

        Args:
            missing: whether those that the manifest lacks are asked for as well.

        Raises:
            LostRace: the table's row has been made anew since the state was read, or is gone at this moment.
        """
        if not state.table.partitioned:
            return Found(self._look(state.table, state.layout, [WHOLE_TABLE]), ())
        known = set(self.partition_names(state.table.name))
        # When a partition is dropped and made again with other blanks at the end of its name, an index of Derby keeps
        # the old text. A list read from that index then lacks the partition, which is there and is found by its name.
        asked = known | set(manifest.partitions)
        if names is not None:
            asked &= {*names, *(known.difference(manifest.partitions) if missing else ())}
        present = self._look(state.table, state.layout, sorted(asked))
        strays = {
            name
            for name, entry in present.items()
            if name not in manifest.partitions and state.is_stray(state.layout.absolute(entry.location))
        }
        return Found(
            {name: entry for name, entry in present.items() if name not in strays},
            tuple(sorted(asked - known - set(present))),
            tuple(sorted(strays)),
        )

    def partition_names(self, name: TableName) -> list[str]:
        """The partitions of a table whose row was there just now.

        Raises:
            LostRace: it is not there any more.
        """
        with _expecting_row(name):
            return self._metastore.partition_names(name)

    def locations(self, table: HiveTable, names: Sequence[str] | None = None) -> dict[str, str]:
        """Where the metastore says that partitions (``None``: all) are, by name; those that it has not are left out."""
        columns = [column.name for column in table.partition_columns]
        wanted = self.partition_names(table.name) if names is None else sorted(names)
        found: dict[str, str] = {}
        for first in range(0, len(wanted), _BATCH):
            rows = self._rows(table, wanted[first : first + _BATCH])
            found.update((partition_name(columns, row.values), normal(row.location)) for row in rows)
        return found

    def differs(self, manifest: Manifest, found: Found) -> list[str]:
        """The names of the partitions that are not what the manifest says."""
        return sorted(
            {name for name, state in found.present.items() if manifest.partitions.get(name) != state}
            | set(found.absent)
        )

    def commit(self, state: TableState, found: Found, changed: list[str], policy: Policy) -> bool:
        """Commit what other programs did as a version of its own, marked ``foreign``.

        Returns:
            Whether this call did it; false when another writer was faster.

        Raises:
            ForeignWrite: the policy is ``fail``.
        """
        name = state.table.name
        shown = ", ".join(part or "the table's files" for part in changed[:5])
        if policy == "fail":
            raise ForeignWrite(
                expected=f"the files of {name} to be those of version {state.version}",
                found=f"{len(changed)} changed by another program: {shown}",
                action="Set on_foreign_write: adopt to keep the change, or restore the version.",
            )
        parent = read_manifest(self._files, state.layout, state.txn)
        partitions = {part: entry for part, entry in parent.partitions.items() if part not in found.absent}
        partitions.update(found.present)
        manifest = parent.followed_by(
            txn=new_transaction_id(self._clock, self._host),
            operation=FOREIGN,
            committed_at=timestamp(self._clock),
            columns=state.table.columns,
            partitions=partitions,
            written=tuple(part for part in changed if part in found.present),
            removed=found.absent,
            # what the properties say about the rows is no longer true
            properties={},
            writer=self._writer,
        )
        self._heartbeats.start(
            state.layout, manifest.txn, table_id=state.table_id
        )  # keeps vacuum from the manifest
        try:
            write_manifest(self._files, state.layout, manifest, parent)
            done = self._versions.compare_and_swap(
                name,
                state.table_id,
                state.version_value,
                {VERSION: settled_value(manifest.version, manifest.table_id), TRANSACTION: manifest.txn},
                # the number of rows that the version before had is not that of this one
                lambda table: with_statistics(
                    table, files=manifest.total_files, size=manifest.total_bytes, with_spark=True
                ),
            )
        finally:
            self._heartbeats.stop(state.layout, manifest.txn)
        if done:
            _LOG.warning(
                "%s: %d partitions were changed by another program (%s); version %d takes that in",
                name,
                len(changed),
                shown,
                manifest.version,
            )
        # otherwise the manifest stays for vacuum: a lost reply may hide that it is needed
        return done

    def fingerprint(self, state: TableState, partition: PartitionState) -> Fingerprint:
        """What a partition's directory holds at this moment."""
        return self._files.fingerprint(state.layout.absolute(partition.location))

    def _look(self, table: HiveTable, layout: Layout, names: list[str]) -> dict[str, PartitionState]:
        if not table.partitioned:
            return {WHOLE_TABLE: self.examine(layout, table.location)}
        columns = [column.name for column in table.partition_columns]
        found = self._rows(table, names)
        states = self.examine_all(layout, [partition.location for partition in found])
        rows = zip(found, states, strict=True)
        return {partition_name(columns, partition.values): state for partition, state in rows}

    def _rows(self, table: HiveTable, names: Sequence[str]) -> list[HivePartition]:
        """The metastore's rows of partitions. Raises :class:`LostRace` if the table has been made anew meanwhile."""
        with _expecting_row(table.name):
            found = self._metastore.partitions(table.name, names)
        if any(len(partition.values) != len(table.partition_columns) for partition in found):
            raise lost_race(table.name)  # which has other partition columns by now
        return found

    def examine(self, layout: Layout, location: str) -> PartitionState:
        """A directory as a manifest describes it."""
        return self.examine_all(layout, [location])[0]

    def examine_all(self, layout: Layout, locations: Sequence[str]) -> list[PartitionState]:
        """Directories as a manifest describes them, each listed once, together."""
        marks = self._files.fingerprints(locations)
        return [
            PartitionState(layout.relative(location), mark.files, mark.bytes, mark.digest)
            for location, mark in zip(locations, marks, strict=True)
        ]


@contextlib.contextmanager
def _expecting_row(name: TableName) -> Iterator[None]:
    """Calls that need a table's row, which was there just now; raises :class:`LostRace` where it is not any more."""
    try:
        yield
    except Refused as error:
        if error.kind == "NoSuchObjectException":
            raise lost_race(name) from error
        raise
