"""Which files of a table hold rows that meet a condition, whatever the table's versions say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lakemerge.engine.erasure.literals import literals_of, mentions
from lakemerge.engine.erasure.places import Place, places_of
from lakemerge.engine.relations.file_frames import file_fact, frame_of_files
from lakemerge.engine.sql_text import quote
from lakemerge.kernel import (
    DELETED,
    ORDER,
    SIDE_TABLES,
    HiveColumn,
    Kernel,
    Layout,
    Manifest,
    TableName,
    each_version,
    normal,
    partition_values,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_FILE = "__lakemerge_file_of_row"
# Ledgers and manifests are small; of a larger text, this much is searched.
_MOST_OF_TEXT = 64 * 2**20


@dataclass(frozen=True)
class Found:
    """A file that holds what is searched for.

    Attributes:
        path: its URI.
        what: ``rows``; ``keys`` that a ledger remembers; ``text`` of the condition; or why it could not be searched.
        rows: how many; ``None`` where that is not known.
    """

    path: str
    what: str
    rows: int | None = None

    @property
    def is_row(self) -> bool:
        """Whether it has, or may have, rows; keys and texts are told, and stay."""
        return self.what not in ("keys", "text")

    def __str__(self) -> str:
        count = "" if self.rows is None else f"{self.rows} "
        return f"{self.path} ({count}{self.what})"


class Search:
    """Searches all files below a table's root."""

    def __init__(self, spark: SparkSession, kernel: Kernel, name: TableName) -> None:
        """
        Args:
            spark: the session whose views a condition may read.
        """
        self._spark = spark
        self._kernel = kernel
        self._name = name

    def run(self, condition: str, quarantined: str = "") -> list[Found]:
        """All files that hold rows which meet a condition.

        Args:
            condition: SQL over the table's columns; empty to search the quarantine alone.
            quarantined: SQL over the quarantine's columns; empty to leave it out.
        """
        current = self._kernel.current(self._name)
        state, manifest = current.state, current.manifest
        if state is None or manifest is None:
            return []
        places = places_of(
            self._kernel.files.walk(state.layout.root), state.layout, self._names(state.layout)
        )
        found: list[Found] = []
        if condition:
            found += self._rows(places["data"], manifest, condition)
            found += self._deltas(places["deltas"], manifest, condition)
            found += self._ledger(places["ledger"], manifest, condition)
        if quarantined:
            columns = SIDE_TABLES["quarantine"].columns
            files = [(place.path, "") for place in places["quarantine"]]
            found += self._matching(files, "orc", columns, (), quarantined)
        literals = literals_of(condition, quarantined) - _values_of_partitions(manifest)
        return [*found, *self._texts(places, literals)]

    def _names(self, layout: Layout) -> Mapping[str, str]:
        """The partition that each directory was of, in any version that is still known."""
        return {
            normal(layout.absolute(one.location)): partition
            for manifest in each_version(self._kernel, self._name)
            for partition, one in manifest.partitions.items()
        }

    # -- rows ----------------------------------------------------------------------------------

    def _rows(self, places: Sequence[Place], manifest: Manifest, condition: str) -> list[Found]:
        keys = manifest.partition_columns
        known = [place for place in places if place.partition is not None and _fits(place.partition, keys)]
        lost = [
            Found(place.path, "of an unknown partition, not searched")
            for place in places
            if place not in known
        ]
        files = [(place.path, place.partition or "") for place in known]
        return self._matching(files, manifest.file_format, manifest.columns, keys, condition) + lost

    def _deltas(self, places: Sequence[Place], manifest: Manifest, condition: str) -> list[Found]:
        columns = (*manifest.columns, *manifest.partition_columns, DELETED, ORDER)
        return self._matching(
            [(place.path, "") for place in places], manifest.file_format, columns, (), condition
        )

    def _ledger(self, places: Sequence[Place], manifest: Manifest, condition: str) -> list[Found]:
        """What a ledger remembers: keys, and rows in that of a history."""
        purpose = manifest.side_data_for.get("ledger")
        if not places or not purpose:
            return [Found(place.path, "of an unknown ledger, not searched") for place in places]
        files = [place.path for place in places]
        frame = self._spark.read.format(str(purpose.get("format", "orc"))).load(files)
        keys = [
            f"__key_{number} as {quote(str(part['expression']))}"
            for number, part in enumerate(purpose["key"], 1)
        ]
        frame = frame.withColumn(_FILE, file_fact(frame, "file_path"))
        remembered = self._count(frame.selectExpr(_FILE, *keys), condition, "keys", optional=True)
        if "__row" not in frame.columns:
            return remembered
        rows = frame.where("__row is not null").selectExpr(_FILE, "__row.*")
        found = self._count(rows, condition, "rows")
        full = {one.path for one in found}
        return [*found, *(one for one in remembered if one.path not in full)]

    def _matching(
        self,
        files: Sequence[tuple[str, str]],
        file_format: str,
        columns: Sequence[HiveColumn],
        keys: Sequence[HiveColumn],
        condition: str,
    ) -> list[Found]:
        from pyspark.errors import PySparkException

        def read(some: Sequence[tuple[str, str]]) -> list[Found]:
            frame = frame_of_files(self._spark, some, file_format, columns, keys, file_column=_FILE)
            return self._count(frame, condition, "rows")

        if not files:
            return []
        # what Spark cannot resolve is the condition's fault, and no file's
        empty = frame_of_files(self._spark, [], file_format, columns, keys)
        empty.alias(self._name.name).where(condition)
        try:
            return read(files)
        except PySparkException:
            found = []
            for one in files:
                try:
                    found += read([one])
                except PySparkException:
                    found.append(Found(one[0], "cannot be read, not searched"))
            return found

    def _count(self, frame: DataFrame, condition: str, what: str, *, optional: bool = False) -> list[Found]:
        """The files of the rows that meet a condition.

        Args:
            optional: whether a condition that reads other columns than these finds nothing.
        """
        from pyspark.errors import AnalysisException

        try:
            met = frame.alias(self._name.name).where(condition)
        except AnalysisException:
            if optional:
                return []
            raise
        counted = met.groupBy(_FILE).count().collect()
        return [Found(str(row[0]), what, int(row[1])) for row in counted]

    # -- texts ---------------------------------------------------------------------------------

    def _texts(self, places: Mapping[str, Sequence[Place]], literals: Iterable[str]) -> list[Found]:
        """Files whose path, or whose text, has a literal of the condition: manifests, logs, lists of files."""
        wanted = list(literals)
        if not wanted:
            return []
        found = []
        for kind, some in places.items():
            for place in some:
                text = place.path
                if kind == "text" and place.size <= _MOST_OF_TEXT:
                    try:
                        text += self._kernel.files.read_text(place.path)
                    except (FileNotFoundError, UnicodeDecodeError):
                        continue  # gone by now, or no text
                if mentions(text, wanted):
                    found.append(Found(place.path, "text"))
        return found


def _fits(partition: str, keys: Sequence[object]) -> bool:
    return len(partition.split("/") if partition else []) == len(keys)


def _values_of_partitions(manifest: Manifest) -> set[str]:
    """The values by which the newest version is partitioned: they stay, with the rows that have them."""
    return {value for name in manifest.partitions if name for value in partition_values(name)}
