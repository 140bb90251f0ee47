"""The rows of a version as frames, read from the files that its manifest lists, whatever the metastore says now."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from lakemerge.engine.relations.file_frames import frame_of_files, schema_of, shown_as
from lakemerge.engine.relations.sized_text import padded
from lakemerge.engine.sql_text import quote
from lakemerge.errors import VersionChanged, VersionVacuumed
from lakemerge.kernel import (
    DELETED,
    DELTAS,
    ORDER,
    FileEntry,
    FileSystem,
    Fingerprint,
    Layout,
    Manifest,
    Metastore,
    find_row,
    spelling_of,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from lakemerge.kernel import TableName

_PLACE = "_lakemerge_place"


class VersionRows:
    """A version of a table.

    Attributes:
        manifest: the version's, with its whole state.
        layout: where the table keeps its files.
    """

    def __init__(
        self,
        spark: SparkSession,
        files: FileSystem,
        layout: Layout,
        manifest: Manifest,
        *,
        as_committed: bool = True,
    ) -> None:
        """
        Args:
            as_committed: read the very files that the version had when it was committed. Otherwise also those that
                other programs have added to its directories since, as readers of the newest version see them.
        """
        self._spark = spark
        self._files = files
        self.layout = layout
        self.manifest = manifest
        self._as_committed = as_committed

    @property
    def deltas(self) -> tuple[str, ...]:
        """The folders of changes that lie beside the base; none where readers read the table itself."""
        return self.manifest.sidecars.get(DELTAS, ()) if self.manifest.overlay else ()

    # -- files ---------------------------------------------------------------------------------

    def files(self, partitions: Collection[str] | None = None) -> Iterator[tuple[FileEntry, str]]:
        """The files of partitions (``None``: of all), each with its partition's name.

        Raises:
            VersionVacuumed: they are deleted.
            VersionChanged: another program has removed or replaced some of them.
        """
        wanted = {
            name: state
            for name, state in self.manifest.partitions.items()
            if partitions is None or name in partitions
        }
        places = [self.layout.absolute(state.location) for state in wanted.values()]
        found = self._files.snapshots(places)
        for (name, state), place, (mark, entries) in zip(wanted.items(), places, found, strict=True):
            if self._as_committed and mark != state.fingerprint:
                added = self._files.added_since(place, state.fingerprint)
                if added is None:
                    raise self._is_gone(name, place, mark)
                entries = [entry for entry in entries if entry not in added]
            yield from ((entry, name) for entry in entries)

    def require_deltas(self) -> None:
        """Make sure that the deltas are there. Raises VersionVacuumed."""
        places = [self.layout.absolute(folder) for folder in self.deltas]
        for folder, (mark, _) in zip(self.deltas, self._files.snapshots(places), strict=True):
            if not mark.files:
                raise self._is_gone(folder, folder, mark)

    def _is_gone(self, name: str, place: str, mark: Fingerprint) -> VersionVacuumed | VersionChanged:
        version, what = self.manifest.version, name or "the table"
        if not mark.files:
            return VersionVacuumed(
                expected=f"the files of {what} in version {version}",
                found=f"none in {place}: the table, or this version of it, was vacuumed or dropped",
                action="Use a version that is kept: lakemerge_history lists them.",
            )
        return VersionChanged(
            expected=f"the files of {what} as version {version} had them",
            found=f"others in {place}: a vacuum is deleting them, or another program has removed or replaced some",
            action="Use another version (lakemerge_history). The rows of this one are not all there any more.",
        )

    # -- frames --------------------------------------------------------------------------------

    def frame(self) -> DataFrame:
        """All rows, with the columns of the version, the partition columns last."""
        return self.merged(self.base())

    def base(self, partitions: Collection[str] | None = None) -> DataFrame:
        """The rows in partitions (``None``: in all), without what deltas say of them."""
        version = self.manifest
        files = [(entry.path, name) for entry, name in self.files(partitions)]
        return frame_of_files(
            self._spark, files, version.file_format, version.columns, version.partition_columns
        )

    def merged(self, base: DataFrame) -> DataFrame:
        """Rows of the base whose keys no delta has, and each delta key's newest row, unless it is deleted."""
        if not self.deltas:
            return base
        # a frame takes a name for an expression: a dot leads into a struct, a star stands for all columns
        names, by = list(map(quote, base.columns)), list(map(quote, self._keys))
        newest = self._newest_changes()
        kept = base.join(newest.select(*by), self._keys, "left_anti").select(*names)
        return kept.unionByName(newest.where(f"not {DELETED.name}").select(*names))

    def keys_in(self, folders: Collection[str]) -> DataFrame:
        """The keys that deltas in some folders have, deleted ones among them."""
        return self._changes(folders).select(*map(quote, self._keys)).distinct()

    @property
    def _keys(self) -> list[str]:
        assert self.manifest.overlay is not None, "it has deltas"
        return list(self.manifest.overlay.keys)

    def _newest_changes(self) -> DataFrame:
        from pyspark.sql import Window, functions

        self.require_deltas()
        newest_first = Window.partitionBy(*map(quote, self._keys)).orderBy(functions.col(ORDER.name).desc())
        found = self._changes(self.deltas).withColumn(_PLACE, functions.row_number().over(newest_first))
        return found.where(f"{_PLACE} = 1")

    def _changes(self, folders: Collection[str]) -> DataFrame:
        version = self.manifest
        columns = (*version.columns, *version.partition_columns, DELETED, ORDER)
        deltas = self._spark.read.schema(schema_of(columns)).format(version.file_format)
        return deltas.load([self.layout.absolute(folder) for folder in folders]).selectExpr(
            *(f"{padded(quote(c.name), c.type)} as {quote(c.name)}" for c in columns)
        )


def as_shown(metastore: Metastore, name: TableName, frame: DataFrame) -> DataFrame:
    """A frame in the spelling in which readers see a table's columns now, as far as it has these columns."""
    row = find_row(metastore, name)
    return shown_as(frame, spelling_of(row) if row else {})
