"""A table brought back to what it was at a version, by one commit that can itself be undone."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from lakemerge.engine.failures import typed_failures
from lakemerge.engine.macros import Macros
from lakemerge.engine.merge_on_read.bounds import Bounds
from lakemerge.engine.merge_on_read.write_modes import WriteModes
from lakemerge.engine.operations.arguments import check_flags
from lakemerge.engine.options.write import WriteConfig
from lakemerge.engine.packaged_macros import packaged_macros
from lakemerge.engine.publish.driver import Counts, Driver, rows_after
from lakemerge.engine.publish.node_transaction import NodeTransaction
from lakemerge.engine.publish.publisher import Publisher
from lakemerge.engine.relations.table_schema import SchemaPlan, plan_same
from lakemerge.engine.spark.beside import session_beside
from lakemerge.engine.spark.session import application_of
from lakemerge.engine.sql_text import qualified
from lakemerge.engine.versions.choice import Choice
from lakemerge.engine.versions.comparison import Comparison, keys_of, places_of
from lakemerge.engine.versions.version_rows import VersionRows
from lakemerge.errors import UnsupportedTable
from lakemerge.kernel import (
    DELTAS,
    HiveColumn,
    Kernel,
    Manifest,
    ReadOnlyKernel,
    Settings,
    TableName,
    same_keys,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_VIEW = "lakemerge_restored"
# What a merge remembers beside the rows belongs to them.
_WITH_ROWS = ("ledger",)
# What the table has read, so that it is not read again.
_OF_SOURCES = ("consumed", "files", "offsets", "quarantine")


@dataclass(frozen=True)
class Restored:
    """What a restore did, or would do.

    Attributes:
        to_version: the version whose rows the table has again.
        from_version: the version that it had before.
        version: the version that was made; ``None`` of a dry run, and where nothing differed.
        partitions: how many partitions are written or removed.
        inserted, updated, deleted: rows, compared with the version before; updates where the table has a key.
    """

    to_version: int
    from_version: int
    version: int | None
    partitions: int
    inserted: int
    updated: int
    deleted: int


class Restore(Driver[WriteConfig]):
    """Writes the partitions in which a version differs from the newest one, as they were then."""

    operation: ClassVar[str] = "restore"

    def __init__(
        self,
        publisher: Publisher[WriteConfig],
        macros: Macros,
        choice: Choice,
        *,
        partitions: str = "",
        take_again: bool = False,
    ) -> None:
        """
        Args:
            partitions: SQL over the partition columns that is true in those which are brought back; empty for all.
            take_again: whether files, records and partitions of sources that the table has read since count as unread.
        """
        super().__init__(publisher, macros)
        self._condition = partitions.strip()
        self._take_again = take_again
        kernel = publisher.kernel
        state, self._target = choice.find_with(kernel, publisher.name)
        self._layout, self._commit_column = state.layout, state.commit_column
        self._touched: frozenset[str] = frozenset()
        self._counts: Mapping[str, int] = {}
        self._from = 0

    def restored(self, version: int | None) -> Restored:
        """What was done by the last attempt, or would be done."""
        return Restored(
            self._target.version,
            self._from,
            version,
            len(self._touched),
            *(self._counts.get(name, 0) for name in ("inserted", "updated", "deleted")),
        )

    def foresee(self) -> Restored:
        """What :meth:`bring_back` would do. Nothing is changed."""
        self._compare(self.publisher.kernel.settled(self.publisher.name)[1])
        return self.restored(None)

    def bring_back(self) -> Restored:
        """Make the version that has the rows again.

        Raises:
            VersionVacuumed, VersionChanged: files of the version are gone.
            LakemergeError, PySparkException: nothing was published.
        """
        modes, current = WriteModes(self.publisher, self.macros), self.publisher.current
        before = current.version if current else 0
        keys = current.overlay.keys if current and current.overlay else ()
        if keys:
            self.foresee()
            if current and not (self._touched or self._other_side_data(current)):
                return self.restored(None)
            modes.remove_overlay()
        try:
            done = self.run()
        finally:
            if keys:
                modes.add_overlay(keys)
        self._from = before
        return self.restored(done.version)

    # -- an attempt ----------------------------------------------------------------------------

    def begin(self) -> NodeTransaction:
        return self.publisher.begin_alteration(self.operation, self._plan)

    def _plan(self, data: Any, keys: Any) -> SchemaPlan:
        return plan_same(self._target.columns, self._target.partition_columns)

    def attempt(self, txn: NodeTransaction) -> Counts:
        base, transaction = txn.base, txn.kernel_transaction
        assert base is not None, "it has versions"
        txn.read()
        for kind in self._kinds:  # also if nothing differs yet: it may when another commit comes first
            transaction.read_side_data(kind)
        base = txn.base
        assert base is not None
        compared = self._compare(base)
        kinds = self._other_side_data(base)
        if not (self._touched or kinds or txn.changes_schema):
            txn.skip()
            return {}
        if self._touched:
            rows = compared.newer
            rows.merged(rows.base(self._touched)).createOrReplaceTempView(_VIEW)
            txn.stage(self.macros.lakemerge_restored_rows_sql(txn, _VIEW), self._touched, count=False)
        for kind in kinds:
            folders = self._target.sidecars.get(kind, ())
            transaction.set_sidecars(kind, map(self._layout.absolute, folders))
            transaction.describe_side_data(kind, self._target.side_data_for.get(kind))
        counts = {name: count for name, count in self._counts.items() if "." not in name}
        inserted, deleted = counts.get("inserted", 0), counts.get("deleted", 0)
        properties = dict(self._target.properties)
        if self._condition:
            properties = {**base.properties, **rows_after(txn, inserted, deleted)}
        txn.commit(counts, properties)
        return counts

    def _compare(self, base: Manifest) -> Comparison:
        """What the newest version would become. Raises UnsupportedTable where it cannot become that."""
        self._require_possible(base)
        spark, kernel, name = self.publisher.spark, self.publisher.kernel, self.publisher.name
        now = VersionRows(spark, kernel.files, self._layout, base, as_committed=False)
        then = VersionRows(spark, kernel.files, self._layout, self._target)
        keys = keys_of(kernel, name, self._commit_column, self._target)
        places = places_of(self._commit_column, self._target)
        compared = Comparison(spark, self.macros, now, then, keys, self._only(base), places=places)
        self._counts, self._from = compared.counts(), base.version
        self._touched = frozenset()
        # a column that goes must not stay in files: it would come back with the next column of its name
        if any(self._counts.values()) or not same_keys(base.columns, self._target.columns):
            # a row of a delta may lie in any partition, or take the place of a row in any
            everything = base.partitions.keys() | self._target.partitions.keys()
            self._touched = frozenset(everything) if then.deltas else compared.partitions
        return compared

    def _only(self, base: Manifest) -> Collection[str] | None:
        """The partitions that may be brought back; ``None`` for all."""
        names = base.partitions.keys() | self._target.partitions.keys()
        if not self._condition:
            return None
        bounds = Bounds(partitions=self._condition)
        return bounds.matching(names, self._target.partition_columns, self.publisher.queries)

    @property
    def _kinds(self) -> tuple[str, ...]:
        """The kinds of side data that go back with the rows."""
        if self._condition:
            return ()
        return (*_WITH_ROWS, *(_OF_SOURCES if self._take_again else ()))

    def _other_side_data(self, base: Manifest) -> list[str]:
        """The kinds of side data that become what they were, and are something else now."""
        return [
            kind
            for kind in self._kinds
            if base.sidecars.get(kind, ()) != self._target.sidecars.get(kind, ())
            or base.side_data_for.get(kind) != self._target.side_data_for.get(kind)
        ]

    def _require_possible(self, base: Manifest) -> None:
        target, name = self._target, self.publisher.name
        if not (
            same_keys(base.partition_columns, target.partition_columns)
            and base.file_format == target.file_format
        ):
            raise UnsupportedTable(
                expected=f"version {target.version} of {name} to have its partition columns and format of now",
                found=f"{_layout_text(target)}, and now {_layout_text(base)}",
                action="Build the table anew from that version: a run with --full-refresh of a model that selects from "
                "version_of(…), or lakemerge.table(…).replace(…).",
            )
        if not self._condition:
            return
        if not target.partition_columns:
            problem = "a table without partitions"
        elif not same_keys(base.columns, target.columns):
            problem = "other columns in that version"
        elif (target.side_data_for.get("ledger") or {}).get("history"):
            problem = "a history, whose rows in other partitions follow from one another"
        elif target.overlay and target.sidecars.get(DELTAS):
            problem = "deltas in that version, whose rows may come from other partitions"
        else:
            return
        raise UnsupportedTable(
            expected=f"partitions of {name} that can be brought back without the others",
            found=problem,
            action="Restore the whole table; or write the rows you want by a statement, from version_of(…).",
        )


def restore(
    spark: SparkSession,
    name: TableName,
    choice: Choice,
    *,
    partitions: str = "",
    take_again: bool = False,
    dry_run: bool = True,
) -> Restored:
    """The work of :meth:`lakemerge.tables.Table.restore`."""
    check_flags({"take_again": take_again, "dry_run": dry_run})
    kind = ReadOnlyKernel if dry_run else Kernel
    kernel = kind(application_of(spark).ports, Settings(writer={"agent": "lakemerge.table"}))
    with typed_failures(), session_beside(spark, f"restore {name}") as handle:
        publisher = Publisher(handle, kernel, name, WriteConfig(), constraints={})
        work = Restore(publisher, packaged_macros(), choice, partitions=partitions, take_again=take_again)
        done = work.foresee() if dry_run else work.bring_back()
    if not dry_run:
        spark.catalog.refreshTable(qualified(name))
    return done


def _layout_text(manifest: Manifest) -> str:
    def listed(columns: tuple[HiveColumn, ...]) -> str:
        return ", ".join(f"{column.name} {column.type}" for column in columns) or "none"

    return f"{manifest.file_format}, partitioned by {listed(manifest.partition_columns)}"
