"""Names of tables and partitions, as Hive writes them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from lakemerge.errors import InvalidConfig, shown

#: What Hive calls the partition of null (and of the empty string).
DEFAULT_PARTITION = "__HIVE_DEFAULT_PARTITION__"

# The characters that Hive's FileUtils.escapePathName escapes.
_ESCAPED = frozenset("\"#%'*/:=?\\\x7f{[]^") | frozenset(chr(code) for code in range(1, 32))
_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})")
# No part of a table's name in Hive has a dot, a backtick or a blank.
_NAME = re.compile(r"(?:(PART|`PART`)\.)?(PART|`PART`)".replace("PART", r"[^`.\s]+"))


@dataclass(frozen=True, order=True)
class TableName:
    """A table's name in the metastore, in lower case as Hive keeps it."""

    schema: str
    name: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "schema", self.schema.lower())
        object.__setattr__(self, "name", self.name.lower())

    def __str__(self) -> str:
        return f"{self.schema}.{self.name}"

    @classmethod
    def parse(cls, text: str, default_schema: str) -> TableName:
        """The table of ``table`` or ``schema.table``, as people write it; each part may stand between backticks.

        Args:
            default_schema: the schema of a name without one.

        Raises:
            InvalidConfig: the text is no such name. Hive has one level of names above tables, so one of three parts
                names no table.
        """
        match = _NAME.fullmatch(text.strip()) if isinstance(text, str) else None
        if match is None:
            raise InvalidConfig(
                expected="the name of a table, as table or schema.table",
                found=shown(text),
                action="Write at most one dot: Hive has no catalog above its schemas.",
            )
        schema, name = (part and part.strip("`") for part in match.groups())
        return cls(schema or default_schema, name)


#: Every metastore takes names of this length; newer ones take longer ones.
LONGEST_NAME = 128


def passing_name(name: TableName, suffix: str) -> TableName:
    """A name for a table's row on its way to the table's own name, or from it: that name with a suffix.

    A long name is shortened, so that the metastore takes this one wherever it takes the table's own.
    """
    room = LONGEST_NAME - len(suffix)
    if len(name.name) <= room:
        return TableName(name.schema, f"{name.name}{suffix}")
    mark = hashlib.sha256(name.name.encode()).hexdigest()[:8]
    return TableName(name.schema, f"{name.name[: room - 9]}_{mark}{suffix}")


def escape(value: str) -> str:
    """One part of a partition's path, escaped as Hive does: ``a/b`` becomes ``a%2Fb``."""
    if not value:
        return DEFAULT_PARTITION
    return "".join(f"%{ord(char):02X}" if char in _ESCAPED else char for char in value)


def unescape(part: str) -> str:
    """The inverse of :func:`escape`."""
    return _ESCAPE.sub(lambda match: chr(int(match[1], 16)), part)


def partition_name(columns: Sequence[str], values: Sequence[str]) -> str:
    """A partition's name: ``["d", "c"], ["1", "a/b"]`` becomes ``d=1/c=a%2Fb``."""
    return "/".join(
        f"{escape(column.lower())}={escape(value)}" for column, value in zip(columns, values, strict=True)
    )


def partition_values(name: str) -> list[str]:
    """The values of a partition's name, unescaped, in the order of the columns."""
    return [unescape(part.partition("=")[2]) for part in name.split("/")]
