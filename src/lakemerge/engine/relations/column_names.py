"""Names of columns and of the fields of structs that a table could be made with, but not be read by."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from lakemerge.errors import UnsupportedColumnName

#: The longest name of a column, in characters, that the schema of Hive's metastore holds on every database.
_LONGEST = 767
#: The same for a partition column.
_LONGEST_KEY = 128
# The names that both Hive and Spark read between `struct<` and a colon; Spark takes some of them for numbers.
_FIELD = re.compile(r"[A-Za-z0-9_]+")
_NUMBER = re.compile(r"\d+(?:e\d+)?(?:[lsydf]|bd)?", re.IGNORECASE)


def require_sound_names(schema: StructType, partition_by: Iterable[str] = ()) -> None:
    """Check the names of columns, and of the fields inside them.

    Raises:
        UnsupportedColumnName: some would make a table that nobody can read, or lose values; all of them are named.
    """
    found = [*_twice([field.name for field in schema.fields], "")]
    keys = {name.lower() for name in partition_by}
    for field in schema.fields:
        longest = _LONGEST_KEY if field.name.lower() in keys else _LONGEST
        if not field.name:
            found.append("a column without a name")
        if "`" in field.name:
            found.append(f"{field.name} (a backtick ends the name in ORC's files)")
        if "\0" in field.name or len(field.name.splitlines()) > 1:
            found.append(f"{field.name!r} (a line end, or a character of code 0)")
        if len(field.name) > longest:
            found.append(f"{field.name[:60]}… ({len(field.name)} characters of at most {longest})")
        found += _inside(field.dataType, field.name)
    if found:
        raise UnsupportedColumnName(
            expected="names of columns that Hive tables can hold, and in structs names of letters from A to Z, digits "
            "and underscores",
            found="; ".join(found),
            action="Nothing was written. Give them other names in the model.",
        )


def _inside(kind: DataType, path: str) -> Iterator[str]:
    if isinstance(kind, ArrayType):
        yield from _inside(kind.elementType, f"{path}.element")
    elif isinstance(kind, MapType):
        yield from _inside(kind.keyType, f"{path}.key")
        yield from _inside(kind.valueType, f"{path}.value")
    elif isinstance(kind, StructType):
        yield from _twice([field.name for field in kind.fields], f"{path}.")
        if not kind.fields:
            yield f"{path} (a struct without fields)"
        for field in kind.fields:
            if not _FIELD.fullmatch(field.name) or _NUMBER.fullmatch(field.name):
                yield f"the field {path}.{field.name or repr('')}"
            yield from _inside(field.dataType, f"{path}.{field.name}")


def _twice(names: list[str], path: str) -> Iterator[str]:
    lower = [name.lower() for name in names]
    for name in (
        sorted({name for name in lower if lower.count(name) > 1}) if len(set(lower)) < len(lower) else ()
    ):
        alike = [path + other for other in names if other.lower() == name]
        yield f"{' and '.join(alike)} (the same but for case)"
