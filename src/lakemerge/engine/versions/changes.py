"""What changed between versions: as counts for people, and as rows for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING, Any

from lakemerge.engine.macros import Macros
from lakemerge.engine.versions.choice import Choice
from lakemerge.engine.versions.comparison import Comparison, keys_of, places_of
from lakemerge.engine.versions.version_rows import VersionRows, as_shown
from lakemerge.errors import InvalidConfig, VersionNotFound, VersionVacuumed
from lakemerge.kernel import (
    Kernel,
    Manifest,
    Ports,
    ReadOnlyKernel,
    TableName,
    TableState,
    changes_rows,
    commits_of,
    staged_versions,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: The columns that a feed of changes has beside the table's, by the names of Delta and Spark.
CHANGE_TYPE, VERSION, TIMESTAMP = "_change_type", "_commit_version", "_commit_timestamp"


@dataclass(frozen=True)
class Difference:
    """What differs between two versions.

    Attributes:
        partitions: how many partitions differ.
        updated_columns: in how many of the updated rows a column differs, by column; only for tables with a key.
        added_columns, removed_columns: columns of one version alone.
        samples: some of the rows that differ, with ``_change_type``.
    """

    from_version: int
    to_version: int
    partitions: int
    inserted: int
    updated: int
    deleted: int
    updated_columns: dict[str, int] = field(default_factory=dict)
    added_columns: list[str] = field(default_factory=list)
    removed_columns: list[str] = field(default_factory=list)
    samples: list[dict[str, Any]] = field(default_factory=list)


class Versions:
    """Two versions of a table, and those between them.

    Without a first version, all that the table has ever had was inserted.
    """

    def __init__(
        self,
        spark: SparkSession,
        ports: Ports,
        macros: Macros,
        state: TableState,
        older: Manifest | None,
        newer: Manifest,
        key: str | Sequence[str] = (),
    ) -> None:
        """
        Args:
            older: the version whose rows are known; ``None`` if none are.
            newer: the last version.
            key: the columns that tell rows apart, where the table does not say.

        Raises:
            InvalidConfig: the table has no such key.
        """
        self._spark, self._ports, self._macros, self.name = spark, ports, macros, state.name
        self._kernel = ReadOnlyKernel(ports)
        self._state, self.older, self.newer = state, older, newer
        name = self.name
        columns, key = _names(self.newer), (key,) if isinstance(key, str) else tuple(key)
        if unknown := [one for one in key if one.lower() not in columns]:
            raise InvalidConfig(
                expected=f"a key of columns of {name}",
                found=f"{', '.join(unknown)}, which version {self.newer.version} has not",
                action=f"It has {', '.join(columns)}.",
            )
        found = keys_of(self._kernel, name, self._state.commit_column, self.newer)
        self._keys = tuple(one.lower() for one in key) or found

    @classmethod
    def chosen(
        cls,
        spark: SparkSession,
        ports: Ports,
        macros: Macros,
        name: TableName,
        start: Choice,
        end: Choice,
        key: str | Sequence[str] = (),
        *,
        staged: bool = False,
    ) -> Versions:
        """The versions from one that people have chosen to another.

        Args:
            start: without a choice, the table before its first commit. So it is for the number 0 of a table that was
                made, and not adopted.
            staged: to end with what was staged last and is not published. Without a choice, it begins with the version
                that this was made for.

        Raises:
            VersionNotFound, UnknownReference: there is no such version.
            InvalidConfig: the first one is the later one, or the table has no such key.
        """
        state, newer = end.find(ports, name)
        if staged:
            kernel = ReadOnlyKernel(ports)
            newer = staged_version(kernel, state)
            begins_there = start == Choice() and newer.parent is not None
            older = kernel.manifest(state, newer.parent) if begins_there else _first(ports, name, start)
            return cls(spark, ports, macros, state, older, newer, key)
        older = _first(ports, name, start)
        if older is not None and older.version > newer.version:
            raise InvalidConfig(
                expected="a first version that is not after the last one",
                found=f"versions {older.version} and {newer.version}",
                action="Swap them.",
            )
        return cls(spark, ports, macros, state, older, newer, key)

    def _rows(self, manifest: Manifest | None) -> VersionRows | None:
        if manifest is None:
            return None
        return VersionRows(self._spark, self._ports.files, self._state.layout, manifest)

    def _compared(self, older: Manifest | None, newer: Manifest) -> Comparison:
        rows = self._rows(newer)
        assert rows is not None
        return Comparison(
            self._spark,
            self._macros,
            self._rows(older),
            rows,
            self._keys,
            shape=self.newer,
            places=places_of(self._state.commit_column, self.newer),
        )

    # -- for people ------------------------------------------------------------------------------

    def difference(self, samples: int = 0) -> Difference:
        """What differs between the two versions, with some rows that do."""
        compared = self._compared(self.older, self.newer)
        counts = compared.counts()
        names = [_names(one) if one else [] for one in (self.older, self.newer)]
        rows = compared.changes().limit(samples).collect() if samples and not compared.is_same else []
        return Difference(
            self.older.version if self.older else 0,
            self.newer.version,
            len(compared.partitions),
            counts["inserted"],
            counts["updated"],
            counts["deleted"],
            {name.removeprefix("updated."): count for name, count in counts.items() if "." in name and count},
            [name for name in names[1] if self.older and name not in names[0]],
            [name for name in names[0] if name not in names[1]],
            [row.asDict(recursive=True) for row in rows],
        )

    # -- for programs ----------------------------------------------------------------------------

    def changes(self, *, net: bool = False, preimages: bool = True) -> DataFrame:
        """The rows that were inserted, updated and deleted after the older version, in the newer one's columns.

        Args:
            net: what has become of each row from the first version to the last, and not what each commit did.
            preimages: whether updated rows are also given as they were.

        Raises:
            VersionVacuumed: versions between the two are gone; net changes need only these two.
        """
        self._require_names()
        steps = [self._compared(*step) for step in ([(self.older, self.newer)] if net else self._steps())]
        changed = [step for step in steps if not step.is_same]
        if not changed:
            return self.unchanged()
        frames = [self._dated(step.changes(preimages=preimages), step.newer.manifest) for step in changed]
        return self._shown(reduce(lambda a, b: a.unionByName(b), frames))

    def unchanged(self) -> DataFrame:
        """No rows, with the columns of changes."""
        same = self._compared(self.newer, self.newer)
        return self._shown(self._dated(same.changes(), self.newer))

    def _shown(self, rows: DataFrame) -> DataFrame:
        return as_shown(self._ports.metastore, self.name, rows)

    def _steps(self) -> Iterator[tuple[Manifest | None, Manifest]]:
        """Each commit that may have changed rows, the oldest first, with the version before it."""
        commits = list(self._commits())
        # the first commit of a table has version 1, or 0 if the table was adopted
        first = self.older.version if self.older else commits[-1].version - 1
        chain = [one for one in commits if first < one.version <= self.newer.version]
        if len(chain) != self.newer.version - first:
            there = [one.version for one in chain]
            raise VersionVacuumed(
                expected=f"versions {first} to {self.newer.version} of {self.name} to be kept, to see what each did",
                found=f"versions {there[-1]} to {there[0]}" if there else "none of them",
                action="Begin at one of these, or ask for net changes (net: true), which need only the first and the "
                "last one.",
            )
        before = self.older
        for commit in reversed(chain):
            version = self._kernel.manifest(self._state, commit.txn)
            if before is None or changes_rows(version):
                yield before, version
            before = version

    def _commits(self) -> Iterator[Manifest]:
        for commit in commits_of(self._kernel, self.name):
            yield commit
            if self.older is not None and commit.version <= self.older.version:
                return

    def _dated(self, rows: DataFrame, version: Manifest) -> DataFrame:
        from pyspark.sql import functions

        moment = functions.lit(version.committed_at).cast("timestamp")
        return rows.withColumn(VERSION, functions.lit(version.version).cast("bigint")).withColumn(
            TIMESTAMP, moment
        )

    def _require_names(self) -> None:
        taken = sorted({CHANGE_TYPE, VERSION, TIMESTAMP} & set(_names(self.newer)))
        if taken:
            raise InvalidConfig(
                expected=f"no column of {self.name} to be called as one of a feed of changes",
                found=", ".join(taken),
                action="Rename it in the table; a diff counts its changes all the same.",
            )


def staged_version(kernel: Kernel, state: TableState) -> Manifest:
    """The version of a table that was staged last and is not published. Raises VersionNotFound where there is none."""
    found = staged_versions(kernel, state.name, state.layout)
    if not found:
        raise VersionNotFound(
            expected=f"a version of {state.name} that was staged and not published",
            found="none",
            action="It was published, built again or vacuumed; lakemerge_staged lists what there is.",
        )
    return found[0].manifest


def _first(ports: Ports, name: TableName, start: Choice) -> Manifest | None:
    """The version to begin with; ``None`` for the table before its first commit."""
    if start == Choice() or start.version == 0:
        *_, first = commits_of(ReadOnlyKernel(ports), name)
        if start == Choice() and first.parent is not None:
            raise VersionVacuumed(
                expected=f"the first version of {name} to be kept, to tell all that was inserted since",
                found=f"that the oldest one is version {first.version}",
                action=f"Begin there: from_version={first.version}.",
            )
        if start == Choice() or (first.parent is None and first.version == 1):
            return None
    return start.find(ports, name)[1]


def _names(manifest: Manifest) -> list[str]:
    return [one.name for one in (*manifest.columns, *manifest.partition_columns)]
