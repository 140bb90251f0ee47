"""What differs between two versions of a table: rows, found by reading the partitions that differ."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lakemerge.engine.history.layout import HistoryLayout
from lakemerge.engine.layout.partitions import partition_filter
from lakemerge.engine.macros import Macros
from lakemerge.engine.relations.file_frames import schema_of
from lakemerge.engine.relations.sized_text import unsized
from lakemerge.engine.relations.table_schema import comparable, is_nested, spark_type
from lakemerge.engine.ruled_table import rules_of
from lakemerge.engine.spark.own_sql import run_sql
from lakemerge.engine.spark.small_frames import empty_frame
from lakemerge.engine.sql_text import literal, quote
from lakemerge.engine.strategies import INCREMENTAL
from lakemerge.engine.versions.version_rows import VersionRows
from lakemerge.kernel import HiveColumn, Kernel, Manifest, TableName

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# By which snapshots tell their rows apart, as dbt names it.
_SCD_ID = "dbt_scd_id"


@dataclass(frozen=True)
class ComparedColumn:
    """A column as macros see it.

    Attributes:
        name: in lower case.
        quoted: between backticks.
        compared: SQL of a form of ``{row}``'s value that can be compared, with ``{row}`` for the row.
    """

    name: str
    quoted: str
    compared: str

    def of(self, row: str) -> str:
        """SQL of the value in a row that can be compared."""
        return self.compared.replace("{row}", row)


@dataclass
class Comparison:
    """Two versions of a table, the older one first; ``None`` for a table that is yet to be made.

    Rows are compared in the columns of a version, the newer one by default. What the other lacks is null there.

    Attributes:
        shape: the version whose columns are compared.
        places: columns that only say where a row lies; they are not compared, and changes do not have them.
        keys: the columns by which a row of one version is that of the other; none where a row that differs is another.
        only: the names of the only partitions that are compared; ``None`` for all.
    """

    spark: SparkSession
    macros: Macros
    older: VersionRows | None
    newer: VersionRows
    keys: tuple[str, ...] = ()
    only: Collection[str] | None = None
    shape: Manifest | None = None
    places: Collection[str] = ()
    partitions: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        before, after = self._states(self.older), self._states(self.newer)
        differing = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
        self.partitions = frozenset(differing if self.only is None else differing & set(self.only))
        sides = [_columns_of(one.manifest) for one in (self.older, self.newer) if one]
        if not all(set(self.keys) <= {column.name for column in side} for side in (self._columns, *sides)):
            self.keys = ()

    def _states(self, version: VersionRows | None) -> Mapping[str, Any]:
        """What the partitions hold; equal for partitions with the same rows."""
        if version is None:
            return {}
        manifest = version.manifest
        shape = (tuple((one.name, one.type) for one in manifest.partition_columns), manifest.file_format)
        return {
            name: (version.layout.absolute(state.location), state.digest, shape)
            for name, state in manifest.partitions.items()
            if state.files
        }

    @property
    def _columns(self) -> tuple[HiveColumn, ...]:
        found = _columns_of(self.shape or self.newer.manifest)
        return tuple(column for column in found if column.name not in self.places)

    @property
    def is_same(self) -> bool:
        """Whether no row can differ."""
        return not self.partitions and not self._changed_deltas

    @property
    def _changed_deltas(self) -> set[str]:
        before = self.older.deltas if self.older else ()
        return set(before) ^ set(self.newer.deltas)

    # -- rows ------------------------------------------------------------------------------------

    def pairs(self) -> DataFrame:
        """A row for each row that differs: ``pre`` as the older version has it, ``post`` as the newer one, or null."""
        older = self._rows(self.older)
        newer = self._rows(self.newer)
        return self._query(self.macros.lakemerge_version_pairs_sql, older=older, newer=newer)

    def changes(self, *, preimages: bool = True) -> DataFrame:
        """The rows that differ, with ``_change_type``: an insert, a delete, or an update's preimage or postimage.

        Args:
            preimages: whether updated rows are also given as they were.
        """
        if self.older is None:  # nothing to compare with
            return self._rows(self.newer).selectExpr("*", "'insert' as _change_type")
        return self._query(self.macros.lakemerge_version_changes_sql, preimages, pairs=self.pairs())

    def counts(self) -> dict[str, int]:
        """How many rows were ``inserted``, ``updated`` and ``deleted``, and by column (``updated.<name>``) updated."""
        if self.is_same:
            return {"inserted": 0, "updated": 0, "deleted": 0}
        (row,) = self._query(self.macros.lakemerge_version_counts_sql, pairs=self.pairs()).collect()
        return {name: int(value or 0) for name, value in row.asDict().items()}

    def _query(self, macro: Callable[..., str], *args: Any, **frames: DataFrame) -> DataFrame:
        """A query that a macro makes of frames; their views are gone when the query is read."""
        names = {name: f"lakemerge_{name}_{uuid.uuid4().hex}" for name in frames}
        try:
            for name, frame in frames.items():
                frame.createOrReplaceTempView(names[name])
            return run_sql(self.spark, macro(self, *args, **names))
        finally:
            for name in names.values():
                self.spark.catalog.dropTempView(name)

    @property
    def columns(self) -> list[ComparedColumn]:
        """The columns, for macros."""
        return [
            ComparedColumn(
                one.name,
                quote(one.name),
                comparable(f"{{row}}.{quote(one.name)}", spark_type(unsized(one.type))),
            )
            for one in self._columns
        ]

    @property
    def is_comparable(self) -> bool:
        """Whether rows can be grouped as they are."""
        return all(one.compared == f"{{row}}.{one.quoted}" for one in self.columns)

    def _rows(self, version: VersionRows | None) -> DataFrame:
        """The rows of a version that may differ, in the columns of the newer one."""
        if version is None:
            return empty_frame(self.spark, schema_of(self._columns))
        rows = version.base(self.partitions)
        if self._changed_deltas:
            others = version.base(version.manifest.partitions.keys() - self.partitions)
            keys = self._changed_keys(rows.columns)
            if keys is not None:
                names = list(map(quote, rows.columns))
                found = others.join(keys, keys.columns, "left_semi").select(*names)
                rows = rows.unionByName(found)
        rows, manifest = version.merged(rows), version.manifest
        if self.only is not None:
            rows = rows.where(partition_filter(manifest.partition_columns, self.only))
        return rows.selectExpr(*self._in_shape(manifest))

    def _changed_keys(self, columns: Sequence[str]) -> DataFrame | None:
        """The keys of deltas that one version has and the other has not."""
        found = None
        for version in (self.older, self.newer):
            folders = self._changed_deltas & set(version.deltas) if version else set()
            if version and folders:
                keys = version.keys_in(sorted(folders))
                found = keys if found is None else found.unionByName(keys).distinct()
        return found if found is None or set(found.columns) <= set(columns) else None

    def _in_shape(self, manifest: Manifest) -> list[str]:
        types = {column.name: column.type for column in _columns_of(manifest)}
        return [
            f"{_cast(quote(c.name), types.get(c.name), c.type)} as {quote(c.name)}" for c in self._columns
        ]


def keys_of(kernel: Kernel, name: TableName, commit_column: str, manifest: Manifest) -> tuple[str, ...]:
    """The columns that tell a table's rows apart, as far as its commits say so; none where no column does."""
    if manifest.overlay is not None:
        return manifest.overlay.keys
    columns = {column.name for column in _columns_of(manifest)}
    rules = rules_of(kernel, name, commit_column)
    if rules is not None:
        found = INCREMENTAL[rules.strategy].options.of(rules.options).merge_keys
        return tuple(key.lower() for key in found)
    return (_SCD_ID,) if _SCD_ID in columns else ()


def places_of(commit_column: str, manifest: Manifest) -> set[str]:
    """The columns by which a table says where its rows lie: one of the append kind, and a split history."""
    last = manifest.partition_columns[-1:]
    closed = {column.name for column in last if column.name == HistoryLayout.partition}
    return closed | ({commit_column} if commit_column else set())


def _columns_of(manifest: Manifest) -> tuple[HiveColumn, ...]:
    return (*manifest.columns, *manifest.partition_columns)


def _cast(value: str, kind: str | None, wanted: str) -> str:
    """A value in another type; what does not fit is null."""
    if kind is None:
        return f"cast(null as {unsized(wanted)})"
    if unsized(kind) == unsized(wanted):
        return value
    if is_nested(kind) or is_nested(wanted):
        return f"from_json(to_json({value}), {literal(unsized(wanted))})"
    return f"try_cast({value} as {unsized(wanted)})"
