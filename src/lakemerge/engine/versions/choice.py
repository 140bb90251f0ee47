"""Which version of a table is meant, as people and programs say it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timezone
from typing import TYPE_CHECKING, Any

from lakemerge.engine.operations.commit_times import time_of
from lakemerge.engine.versions.version_rows import VersionRows
from lakemerge.errors import InvalidConfig, TableNotFound, shown
from lakemerge.kernel import (
    Kernel,
    Manifest,
    Ports,
    ReadOnlyKernel,
    TableName,
    TableState,
    find_version,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Choice:
    """A version by its number, by a time or by a tag; the newest one if nothing is given.

    Attributes:
        time: the last version that was committed by then is meant.
    """

    version: int | None = None
    time: datetime | None = None
    tag: str | None = None

    @classmethod
    def of(
        cls,
        version: Any = None,
        timestamp: Any = None,
        tag: Any = None,
        *,
        prefix: str = "",
        newest: bool = False,
    ) -> Choice:
        """Read arguments.

        Args:
            timestamp: a text of ISO 8601, a date, or a time; in UTC where it has no zone.
            prefix: of the arguments' names, for messages.
            newest: whether nothing may be given.

        Raises:
            InvalidConfig: none or several are given, or one is wrong.
        """
        given = {"version": version, "timestamp": timestamp, "tag": tag}
        chosen = [name for name, value in given.items() if value is not None]
        if len(chosen) > 1 or not (chosen or newest):
            names = [f"{prefix}{name}" for name in given]
            raise InvalidConfig(
                expected=f"one of {', '.join(names)}",
                found=", ".join(f"{prefix}{name}" for name in chosen) or "none of them",
                action="Say by one of them which version is meant.",
            )
        if version is not None and (isinstance(version, bool) or not isinstance(version, int) or version < 0):
            raise InvalidConfig(
                expected=f"{prefix}version to be a whole number, as lakemerge_history shows them",
                found=shown(version),
                action=f"Correct it; a time is given by {prefix}timestamp.",
            )
        if tag is not None and (not isinstance(tag, str) or not tag.strip()):
            raise InvalidConfig(
                expected=f"{prefix}tag to be the name of a version", found=shown(tag), action="Correct it."
            )
        return cls(version, None if timestamp is None else _time(timestamp), tag and tag.strip())

    def find(self, ports: Ports, name: TableName) -> tuple[TableState, Manifest]:
        """The version, and the table's state now. Nothing is written.

        Raises:
            VersionNotFound, UnknownReference: there is no such version; the error's type says why.
            TableNotFound, UnsupportedTable: there is no such table, or it has no versions.
        """
        try:
            return self.find_with(ReadOnlyKernel(ports), name)
        except TableNotFound:
            # its row may be missing while it is made anew: then this waits for it, or makes it
            Kernel(ports).open(name)
            return self.find_with(ReadOnlyKernel(ports), name)

    def rows(self, spark: SparkSession, ports: Ports, name: TableName) -> VersionRows:
        """The version's rows. Raises as :meth:`find`."""
        state, manifest = self.find(ports, name)
        return VersionRows(spark, ports.files, state.layout, manifest)

    def find_with(self, kernel: Kernel, name: TableName) -> tuple[TableState, Manifest]:
        """As :meth:`find`, in the state that a kernel finds the table in."""
        return find_version(kernel, name, version=self.version, time=self.time, tag=self.tag)


def _time(given: Any) -> datetime:
    if isinstance(given, datetime):
        return given if given.tzinfo else given.replace(tzinfo=timezone.utc)
    if isinstance(given, date):
        return datetime(given.year, given.month, given.day, tzinfo=timezone.utc)
    return time_of(str(given))
