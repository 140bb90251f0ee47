"""Values of partition columns that cannot name a partition: too long for a directory, or short of a ``char(n)``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from py4j.protocol import Py4JJavaError

from lakemerge.engine.relations.sized_text import char_length
from lakemerge.engine.relations.table_schema import is_text
from lakemerge.engine.sql_text import literal, quote
from lakemerge.errors import PartitionValueTooLong
from lakemerge.kernel import HiveColumn, escape

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: The longest name of a directory, in bytes, on HDFS and on local disks.
LONGEST = 255
#: The longest name of a partition, in characters, that the schema of Hive's metastore holds on every database.
_LONGEST_PATH = 767
# This many columns may have a longer name together, although each is short enough.
_MANY = 4
# The characters that Hive and Spark escape in the name of a directory, each by three.
_ESCAPED = r"""[\x01-\x1f"#%'*/:=?\\\x7f{\[\]^]"""
_MARK = "lakemerge_partition_value_too_long"
_MESSAGE = re.compile(rf"{_MARK} (.*?) (\d+) of (\d+): (.*?)…", re.DOTALL)


def directory_name(column: HiveColumn) -> str:
    """What a partition column is called in paths: Hive does not read directories that begin with ``_`` or ``.``."""
    return f"lakemerge{column.name}" if column.name[:1] in "_." else column.name


def checked(frame: DataFrame, partitions: Sequence[HiveColumn]) -> DataFrame:
    """A frame whose rows fail, as they are written, where a partition column's value is too long.

    A row of a delta would otherwise be published and could never be moved into the base.
    """
    from pyspark.sql import functions

    texts = [column for column in partitions if is_text(column.type)]
    for column in texts:
        name = quote(column.name)
        short, size = is_short_sql(column, name), _size(column, name)
        value = _or_fail(name, short, column.name, size, LONGEST, name)
        frame = frame.withColumn(column.name, functions.expr(value))
    if size := _path_size(partitions, {column.name: quote(column.name) for column in partitions}):
        last, name = texts[-1], quote(texts[-1].name)
        together = ", ".join(column.name for column in partitions)
        frame = frame.withColumn(
            last.name,
            functions.expr(_or_fail(name, f"{size} <= {_LONGEST_PATH}", together, size, _LONGEST_PATH, name)),
        )
    return frame


@dataclass(frozen=True)
class NameRule:
    """What the value of a partition column must be like, so that its row has a partition.

    Attributes:
        column: the column's name.
        keeps: SQL that is true where the value keeps the rule, and never null.
        is_size: whether the rule is broken by too long a value.
        text: what was expected, in words.
    """

    column: str
    keeps: str
    is_size: bool
    text: str


def name_rules(partitions: Sequence[HiveColumn], values: Mapping[str, str]) -> Iterator[NameRule]:
    """The rules that single values can break: a commit with such a row fails as a whole.

    Args:
        partitions: all partition columns of a table, in its order.
        values: SQL of the values that rows give, by column; the numbers of commits are not among them.
    """
    given = [column for column in partitions if column.name in values and is_text(column.type)]
    for column in given:
        value = values[column.name]
        short = f"a value of {column.name} short enough for the name of a directory, {LONGEST} bytes"
        yield NameRule(column.name, f"coalesce({is_short_sql(column, value)}, true)", True, short)
        if length := char_length(column.type):
            whole = (
                f"a whole value of the char({length}) {column.name}: partitions are not named by shorter ones"
            )
            keeps = f"coalesce(char_length(rtrim({value})) >= {length}, true)"
            yield NameRule(column.name, keeps, False, whole)
    if size := _path_size(partitions, values):
        together = ", ".join(column.name for column in given)
        short = f"values of {together} short enough for the name of a partition, {_LONGEST_PATH} characters"
        yield NameRule(given[-1].name, f"{size} <= {_LONGEST_PATH}", True, short)


def _path_size(partitions: Sequence[HiveColumn], values: Mapping[str, str]) -> str:
    """SQL of the length of a partition's name; empty where it cannot be too long.

    Args:
        values: SQL of the values, by column; that of another column has at most the length of a number.
    """
    if len(partitions) < _MANY or not any(is_text(column.type) for column in partitions):
        return ""
    sizes = (
        f"coalesce(char_length({_escaped(values.get(key.name, 'null'))}), 26) + {_prefix(key) + 1}"
        for key in partitions
    )
    return " + ".join(sizes)


def _prefix(column: HiveColumn) -> int:
    return len(escape(directory_name(column)).encode()) + 1


def is_short_sql(column: HiveColumn, value: str) -> str:
    """SQL that is true where a text is short enough for the directory of a partition column; null for a null.

    Args:
        value: SQL of the text.
    """
    # most values are short enough even if each of their characters were escaped
    quick = f"octet_length({value}) * 3 + {_prefix(column)} <= {LONGEST}"
    return f"{quick} or {_size(column, value)} <= {LONGEST}"


def _size(column: HiveColumn, value: str) -> str:
    return f"octet_length({_escaped(value)}) + {_prefix(column)}"


def _escaped(value: str) -> str:
    return f"regexp_replace(cast({value} as string), {literal(_ESCAPED)}, '%00')"


def _or_fail(value: str, is_sound: str, columns: str, size: str, most: int, shown: str) -> str:
    message = f"concat({literal(f'{_MARK} {columns} ')}, {size}, ' of {most}: ', left({shown}, 60), '…')"
    return f"if(coalesce({is_sound}, true), {value}, cast(raise_error({message}) as string))"


def require_short(column: HiveColumn, directory: str) -> None:
    """Check the name of one directory. Raises PartitionValueTooLong."""
    if (size := len(directory.encode())) > LONGEST:
        raise _too_long(column.name, str(size), str(LONGEST), directory[:60])


@contextmanager
def typed_partition_errors() -> Iterator[None]:
    """Raise PartitionValueTooLong where rows of :func:`checked` fail."""
    from pyspark.errors import PySparkException

    try:
        yield
    except (Py4JJavaError, PySparkException) as error:
        # pyspark shows the cause of a failed task in its stack trace
        text = f"{error} {getattr(error, '_stackTrace', '')}"
        if (found := _MESSAGE.search(text)) is None:
            raise
        raise _too_long(*found.groups()) from error


def _too_long(columns: str, size: str, most: str, shown: str) -> PartitionValueTooLong:
    unit = "bytes" if most == str(LONGEST) else "characters"
    return PartitionValueTooLong(
        expected=f"values of the partition column {columns} whose directories have names of at most {most} {unit}, "
        "escaped as Hive does",
        found=f"one of {size}, which begins with {shown}…",
        action="Nothing was published. Shorten the values in the model, or partition by another column.",
    )
