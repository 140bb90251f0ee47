"""Deciding a commit: the manifest, and the claim by compare-and-swap; what comes after it is rolling forward."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakemerge.errors import LakemergeError
from lakemerge.kernel.definition import (
    ROOT,
    TABLE_ID,
    TRANSACTION,
    VERSION,
    moved,
    new_table,
    stored_as,
    with_parameters,
    with_statistics,
    without_spark_schema,
)
from lakemerge.kernel.manifest import WHOLE_TABLE, Manifest
from lakemerge.kernel.metastore import HiveTable, Refused, ReplyLost
from lakemerge.kernel.rollforward import makes_row_anew
from lakemerge.kernel.state import TableState, look_at, read_manifest
from lakemerge.kernel.system import timestamp
from lakemerge.kernel.table_commit import TableCommit
from lakemerge.kernel.versions import lost_race

if TYPE_CHECKING:
    from lakemerge.kernel.kernel import Kernel


class Committer:
    """Decides commits: each call is one attempt, which another writer may win (:class:`LostRace`)."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._files = kernel.files
        self._metastore = kernel.metastore

    def claim(self, commit: TableCommit) -> Manifest:
        """Claim the next version; for an unpartitioned table this publishes it."""
        state, parent = self._kernel.settled(commit.table)
        commit.check_follows(self._files, state, parent)
        if commit.reads.has_partitions:
            wanted = None if commit.reads.everything else commit.reads.partitions
            commit.check_found(self._kernel.foreign.inspect(state, parent, wanted).present)
        for check in commit.requirements:
            check(parent)
        manifest = self._write_manifest(commit, state, parent)
        rebuilt = makes_row_anew(parent, manifest)
        whole = not commit.keys and not rebuilt
        value = str(manifest.version) if whole else f"{manifest.version}:{commit.txn}"
        # the settled transaction's id moves with the version, so a claim leaves it alone
        parameters = {VERSION: value, **({TRANSACTION: commit.txn} if whole else {})}

        def change(table: HiveTable) -> HiveTable:
            table = with_parameters(table, commit.parameters)
            if rebuilt:
                return table
            if manifest.columns != parent.columns or manifest.file_format != parent.file_format:
                table = without_spark_schema(stored_as(table, manifest.columns, manifest.file_format))
            if whole:
                table = moved(table, commit.layout.absolute(manifest.partitions[WHOLE_TABLE].location))
            return _with_statistics(table, manifest)

        if whole:
            self._metastore.delete_table_column_statistics(commit.table)
        commit.in_doubt = True
        advanced = self._kernel.versions.advance(commit.table, state.version_value, parameters, change)
        if not advanced and not self._in_history(commit):
            commit.in_doubt = False
            raise lost_race(commit.table)
        return manifest

    def create(self, commit: TableCommit) -> Manifest:
        """Make the table; an unpartitioned one is complete with it."""
        assert commit.definition is not None
        for check in commit.requirements:
            check(None)
        manifest = self._write_manifest(commit, None, None)
        location = commit.layout.root
        if not commit.keys:
            location = commit.layout.absolute(manifest.partitions[WHOLE_TABLE].location)
        else:
            self._files.make_directory(location)
        value = "1" if not commit.keys else f"1:{commit.txn}"
        own = {
            VERSION: value,
            TRANSACTION: commit.txn,
            TABLE_ID: manifest.table_id,
            ROOT: commit.layout.root,
        }
        table = new_table(commit.definition, commit.layout.root, location)
        table = _with_statistics(with_parameters(table, {**commit.parameters, **own}), manifest)
        commit.in_doubt = True
        try:
            self._metastore.create_table(table)
        except (ReplyLost, Refused) as error:
            self._resolve_creation(commit, error)
        return manifest

    def _resolve_creation(self, commit: TableCommit, error: LakemergeError) -> None:
        """Whether a creation that ended in an error has happened all the same."""
        table = self._metastore.get_table(commit.table)
        if table is not None and table.parameters.get(TABLE_ID) == commit.table_id:
            return
        if isinstance(error, ReplyLost) and table is None:
            raise lost_race(commit.table) from error
        commit.in_doubt = False
        if table is not None:
            raise commit.conflict("that another writer made the table meanwhile") from error
        raise error

    def _write_manifest(
        self, commit: TableCommit, state: TableState | None, parent: Manifest | None
    ) -> Manifest:
        present: set[str] = set()
        if commit.replaces_all and state is not None and state.table.partitioned:
            present = set(self._metastore.partition_names(commit.table))
        if not commit.keys and (parent is None or commit.replaces_all) and WHOLE_TABLE not in commit.written:
            empty = self._kernel.foreign.examine(commit.layout, commit.layout.data_of(commit.txn))
            commit.written[WHOLE_TABLE] = empty
        manifest = commit.manifest_after(
            parent,
            present,
            committed_at=timestamp(self._kernel.clock),
            writer=self._kernel.writer,
            lease_seconds=self._kernel.settings.lease_seconds,
        )
        self._files.write_text(commit.layout.manifest_of(commit.txn), manifest.to_json())
        self._kernel.step("manifest written")
        return manifest

    def _in_history(self, commit: TableCommit) -> bool:
        """Whether a commit is there although its claim seemed lost: a rescuer may have settled it."""
        sight = look_at(self._metastore, self._files, commit.table)
        state = sight.state if sight else None
        if state is None or commit.base is None or state.table_id != commit.base.table_id:
            return False
        txn: str | None = state.claim or state.txn
        while txn and txn != commit.base.txn:
            if txn == commit.txn:
                return True
            txn = read_manifest(self._files, state.layout, txn).parent
        return False


def _with_statistics(table: HiveTable, manifest: Manifest) -> HiveTable:
    return with_statistics(
        table,
        files=manifest.total_files,
        size=manifest.total_bytes,
        rows=manifest.properties.get("rows"),
        with_spark=True,
    )
