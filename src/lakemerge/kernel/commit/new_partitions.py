"""Names that some metastores cannot keep apart, or cannot hold: refused before a commit is claimed.

After the claim the commit could never be finished, and no other one could follow.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Set as AbstractSet

from lakemerge.errors import UnsupportedTable
from lakemerge.kernel.ports.names import TableName, partition_values

#: The longest name of a partition, in characters, that the schema of Hive's metastore holds on every database.
_LONGEST = 767
#: The longest value of a partition column, likewise.
_LONGEST_VALUE = 256


def require_sound_names(
    table: TableName, known: Collection[str], written: AbstractSet[str], removed: AbstractSet[str]
) -> None:
    """Check the names of the partitions that a commit makes.

    Databases such as MySQL and Derby take texts for equal that differ only in blanks at their end. Partitions that
    exist already are not compared with each other: their metastore does keep them apart.

    Args:
        known: the partitions of the version before.
        written, removed: those that the commit touches.

    Raises:
        UnsupportedTable: a new one differs from another by blanks at its end alone, or has too long a name.
    """
    fresh = written - set(known)
    if long := sorted(name for name in fresh if len(name) > _LONGEST):
        raise UnsupportedTable(
            expected=f"names of at most {_LONGEST} characters for the partitions of {table}",
            found=f"one of {len(long[0])}: {long[0][:100]}…",
            action="Nothing was published. Shorten the values of the partition columns in the model.",
        )
    values = ((name, value) for name in sorted(fresh) if name for value in partition_values(name))
    if found := next((one for one in values if len(one[1]) > _LONGEST_VALUE), None):
        raise UnsupportedTable(
            expected=f"values of at most {_LONGEST_VALUE} characters in the partition columns of {table}",
            found=f"one of {len(found[1])}: {found[0][:100]}…",
            action="Nothing was published. Shorten the values of the partition columns in the model.",
        )
    names = {*known, *written, *removed}
    if not fresh or not any(name.endswith(" ") for name in names):
        return
    trimmed: dict[str, list[str]] = {}
    for name in sorted(names):
        trimmed.setdefault(name.rstrip(" "), []).append(name)
    for alike in trimmed.values():
        if len(alike) > 1 and not fresh.isdisjoint(alike):
            raise UnsupportedTable(
                expected=f"partitions of {table} that differ in more than blanks at the end of their names",
                found=" beside ".join(f"'{name}'" for name in alike[:3]),
                action="Nothing was published. Some metastores take the two for one. Trim the last partition column in "
                "the model (rtrim). If one with blanks is there already, remove its rows by a run of their own first.",
            )
