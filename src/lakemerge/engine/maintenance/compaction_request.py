"""What a compaction is asked to do, and how its files are to be ordered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from lakemerge.engine.merge_on_read.bounds import Bounds
from lakemerge.engine.relations.table_schema import is_nested
from lakemerge.errors import InvalidConfig
from lakemerge.kernel import Manifest

#: How many columns a z-order may interleave: 8 bits of each fit into a bigint.
_MOST_ZORDERED = 7


@dataclass(frozen=True)
class Ordering:
    """How rows are ordered in the files of a partition.

    Attributes:
        columns: those that rows are ordered by, in lower case; none to leave rows in their order.
        zorder: whether rows are ordered by all of them alike, instead of by one after the other.
    """

    columns: tuple[str, ...] = ()
    zorder: bool = False

    @classmethod
    def of(cls, sort_by: Any, zorder_by: Any) -> Ordering:
        """The ordering for an operation's arguments, each of which is a name or several.

        Raises:
            InvalidConfig: both are given, or too few or too many columns to interleave.
        """
        by, interleaved = _names(sort_by), _names(zorder_by)
        if by and interleaved:
            raise InvalidConfig(
                expected="sort_by or zorder_by",
                found="both",
                action="A file has one order: set one of the two.",
            )
        if interleaved and not 2 <= len(set(interleaved)) <= _MOST_ZORDERED:
            raise InvalidConfig(
                expected=f"zorder_by with 2 to {_MOST_ZORDERED} columns",
                found=", ".join(interleaved),
                action="Give those that queries filter by most; for one column, use sort_by.",
            )
        return cls(tuple(dict.fromkeys(by or interleaved)), bool(interleaved))

    @property
    def action(self) -> str:
        """What a compaction with it is called in the log."""
        if not self.columns:
            return "small_files"
        return "zorder" if self.zorder else "sort"

    def __str__(self) -> str:
        return f"{self.action} by {', '.join(self.columns)}" if self.columns else "small files"

    def check(self, table: object, manifest: Manifest) -> None:
        """Make sure that a table can be ordered in this way.

        Raises:
            InvalidConfig: columns are missing, partition columns, or of types without an order.
        """
        types = {column.name: column.type for column in manifest.columns}
        keys = {column.name for column in manifest.partition_columns}
        wrong = [f"{name}, a partition column" for name in self.columns if name in keys]
        wrong += [f"{name}, which it does not have" for name in self.columns if name not in {*types, *keys}]
        wrong += [
            f"{name} {types[name]}" for name in self.columns if name in types and is_nested(types[name])
        ]
        if wrong:
            raise InvalidConfig(
                expected=f"sort_by and zorder_by to name columns of {table} with values that can be ordered",
                found="; ".join(wrong),
                action=f"Choose among {', '.join(name for name in types if not is_nested(types[name]))}.",
            )


@dataclass(frozen=True)
class Request:
    """A compaction of one table.

    Attributes:
        reason: ``threshold`` or ``operation``, for the log.
        bounds: of what is written again.
        order: of the rows in the new files.
        merge_after: this many small partitions that are numbered by commit become one; 0 for never.
        files, surplus: as of :class:`SmallFiles`.
        only: names of the partitions that are packed; all if ``None``.
    """

    reason: str
    bounds: Bounds = field(default_factory=Bounds)
    order: Ordering = Ordering()
    merge_after: int = 2
    files: int = 2
    surplus: int = 1
    only: frozenset[str] | None = None


def _names(value: Any) -> Sequence[str]:
    values = value.split(",") if isinstance(value, str) else list(value or ())
    return [str(name).strip().lower() for name in values if str(name).strip()]
