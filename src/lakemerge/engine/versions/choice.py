"""Which version of a table is meant, as people and programs say it."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timezone
from typing import TYPE_CHECKING, Any

from lakemerge.engine.operations.commit_times import time_of
from lakemerge.engine.versions.version_rows import VersionRows
from lakemerge.errors import InvalidConfig, TableNotFound, VersionNotFound, VersionVacuumed, shown
from lakemerge.kernel import (
    Kernel,
    Manifest,
    Ports,
    ReadOnlyKernel,
    TableName,
    TableState,
    commits_of,
    find_version,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Choice:
    """A version by its number, by a time, by a tag or by a group; the newest one if nothing is given.

    Attributes:
        time: the last version that was committed by then is meant.
        group: the version that was committed together with those of other tables is meant.
    """

    version: int | None = None
    time: datetime | None = None
    tag: str | None = None
    group: str | None = None

    @classmethod
    def of(
        cls,
        version: Any = None,
        timestamp: Any = None,
        tag: Any = None,
        group: Any = None,
        *,
        prefix: str = "",
        newest: bool = False,
    ) -> Choice:
        """Read arguments.

        Args:
            timestamp: a text of ISO 8601, a date, or a time; in UTC where it has no zone.
            group: the id of a commit of several tables, as their histories show it.
            prefix: of the arguments' names, for messages.
            newest: whether nothing may be given.

        Raises:
            InvalidConfig: none or several are given, or one is wrong.
        """
        given = {"version": version, "timestamp": timestamp, "tag": tag, "group": group}
        chosen = [name for name, value in given.items() if value is not None]
        if len(chosen) > 1 or not (chosen or newest):
            names = [f"{prefix}{name}" for name in given if name != "group" or not (prefix or newest)]
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
        texts = {"tag": "the name of a version", "group": "an id, as lakemerge_history shows it"}
        for name, meaning in texts.items():
            text = given[name]
            if text is not None and (not isinstance(text, str) or not text.strip()):
                raise InvalidConfig(
                    expected=f"{prefix}{name} to be {meaning}", found=shown(text), action="Correct it."
                )
        time = None if timestamp is None else _time(timestamp)
        return cls(version, time, tag and tag.strip(), group and group.strip())

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
        if self.group is not None:
            return _of_group(kernel, name, self.group)
        return find_version(kernel, name, version=self.version, time=self.time, tag=self.tag)


def _time(given: Any) -> datetime:
    if isinstance(given, datetime):
        return given if given.tzinfo else given.replace(tzinfo=timezone.utc)
    if isinstance(given, date):
        return datetime(given.year, given.month, given.day, tzinfo=timezone.utc)
    return time_of(str(given))


def _of_group(kernel: Kernel, name: TableName, group: str) -> tuple[TableState, Manifest]:
    _, newest = find_version(kernel, name)
    for commit in itertools.chain(commits_of(kernel, name), _named(kernel, name, newest)):
        if commit.group == group:
            return find_version(kernel, name, version=commit.version)
    raise VersionNotFound(
        expected=f"a version of {name} that was committed by the group {group}",
        found="none of the versions that are kept",
        action="See the groups in lakemerge_history. A table that the commit did not change has no version of it, and "
        "what was vacuumed is gone.",
    )


def _named(kernel: Kernel, name: TableName, newest: Manifest) -> Iterator[Manifest]:
    """The versions that tags keep, as far as they are there."""
    for tag in newest.references:
        with contextlib.suppress(VersionVacuumed):
            yield find_version(kernel, name, tag=tag)[1]
