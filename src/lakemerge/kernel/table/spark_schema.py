"""Spark's copy of a table's schema among the table's parameters: what keeps the case of the columns' names.

The metastore has all names in lower case, and so do data files and manifests. Spark shows the names of its copy, as
long as the copy differs from the columns in nothing but case; otherwise Spark ignores it. For a view it does not look.
So a change of the columns always writes the copy anew.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from lakemerge.kernel.ports.metastore import HiveColumn, HiveTable

_SCHEMA = "spark.sql.sources.schema"
#: The longest value of a parameter that every metastore takes; Spark splits its copy at this length too.
_LONGEST = 4000
# Spark's names of types in JSON, where they are not those of SQL.
_NAMES = {"tinyint": "byte", "smallint": "short", "int": "integer", "bigint": "long"}
_SIMPLE = re.compile(
    r"(?:tinyint|smallint|int|bigint|float|double|boolean|string|binary|date|timestamp"
    r"|decimal\(\d+,\d+\))"
)
# Spark has these types as strings, and beside each such column the type as it was declared.
_SIZED = re.compile(r"\b(?:var)?char\(\d+\)")
_SIZED_TYPE = "__CHAR_VARCHAR_TYPE_STRING"
_FIELD = re.compile(r"(\w+):")


def spelling_of(row: HiveTable) -> dict[str, str]:
    """The names of a table's or view's columns as Spark shows them, by their names in lower case."""
    known = {column.name for column in (*row.columns, *row.partition_columns)}
    return {name: shown for name, shown in spelling_in(row.parameters).items() if name in known}


def spelling_in(parameters: Mapping[str, str]) -> dict[str, str]:
    """The names in Spark's copy of a schema, by the same in lower case; none without a copy."""
    text = parameters.get(_SCHEMA)
    if text is None:
        count = parameters.get(f"{_SCHEMA}.numParts", "")
        places = range(int(count) if count.isdigit() else 0)
        text = "".join(parameters.get(f"{_SCHEMA}.part.{place}", "") for place in places)
    try:
        names = [str(field["name"]) for field in json.loads(text)["fields"]] if text else []
    except (ValueError, KeyError, TypeError):
        return {}  # what another program has broken; Spark itself cannot read the table then
    return {name.lower(): name for name in names}


def spelled(row: HiveTable) -> tuple[HiveColumn, ...]:
    """A table's or view's columns with the names that Spark shows, the partition columns last."""
    names = spelling_of(row)
    return tuple(
        replace(column, name=names.get(column.name, column.name))
        for column in (*row.columns, *row.partition_columns)
    )


def has_spark_schema(parameters: Iterable[str]) -> bool:
    """Whether Spark's copy of a schema, or a part of it, is among parameters of these names."""
    return any(name.startswith(_SCHEMA) for name in parameters)


def without_spark_schema(row: HiveTable) -> HiveTable:
    """A row without Spark's copy of the schema."""
    kept = {key: value for key, value in row.parameters.items() if not key.startswith(_SCHEMA)}
    return replace(row, parameters=kept)


def with_spelling(row: HiveTable, spelling: Mapping[str, str]) -> HiveTable:
    """A row with Spark's copy of its schema, made of its columns; without one if all names are in lower case.

    Args:
        spelling: names as they are to be shown, by the names of columns in lower case; others are in lower case.
    """
    row = without_spark_schema(row)
    columns = (*row.columns, *row.partition_columns)
    names = {column.name: spelling.get(column.name, column.name) for column in columns}
    if all(name == shown for name, shown in names.items()):
        return row
    parameters = schema_parameters(row.columns, row.partition_columns, names)
    return replace(row, parameters={**row.parameters, **parameters})


def respelled(row: HiveTable) -> HiveTable:
    """A row whose columns have changed, with the names that those have which are still there."""
    return with_spelling(row, spelling_of(row))


def schema_parameters(
    columns: Sequence[HiveColumn], partition_columns: Sequence[HiveColumn], spelling: Mapping[str, str]
) -> dict[str, str]:
    """Spark's copy of a schema, as parameters; none if a column has a type that Spark has under another name.

    Args:
        spelling: as for :func:`with_spelling`.
    """
    try:
        fields = [
            _column(spelling.get(column.name, column.name), column)
            for column in (*columns, *partition_columns)
        ]
    except ValueError:
        return {}
    text = json.dumps({"type": "struct", "fields": fields}, ensure_ascii=False, separators=(",", ":"))
    found = dict(_parts(text))
    if partition_columns:
        found[f"{_SCHEMA}.numPartCols"] = str(len(partition_columns))
        for place, column in enumerate(partition_columns):
            found[f"{_SCHEMA}.partCol.{place}"] = spelling.get(column.name, column.name)
    return found


def _parts(text: str) -> Iterable[tuple[str, str]]:
    if len(text) <= _LONGEST:
        yield _SCHEMA, text
        return
    parts = [text[start : start + _LONGEST] for start in range(0, len(text), _LONGEST)]
    yield f"{_SCHEMA}.numParts", str(len(parts))
    yield from ((f"{_SCHEMA}.part.{place}", part) for place, part in enumerate(parts))


def _column(name: str, column: HiveColumn) -> dict[str, Any]:
    metadata = {"comment": column.comment} if column.comment else {}
    if _SIZED.search(column.type):
        metadata[_SIZED_TYPE] = column.type
    return {**_field(name, _type(_SIZED.sub("string", column.type))), "metadata": metadata}


def _field(name: str, kind: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, "nullable": True, "metadata": {}}


def _type(text: str) -> Any:
    """Spark's JSON of a type by Hive's name. Raises ValueError for a type that it does not know."""
    kind, rest = _take(text.strip())
    if rest:
        raise ValueError(f"a type and nothing else, not {text}")
    return kind


def _take(text: str) -> tuple[Any, str]:
    """The type that a text begins with, and the rest of the text."""
    if text.startswith("array<"):
        element, rest = _take(text[6:])
        return {"type": "array", "elementType": element, "containsNull": True}, _after(rest, ">")
    if text.startswith("map<"):
        key, rest = _take(text[4:])
        value, rest = _take(_after(rest, ","))
        kind = {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": True}
        return kind, _after(rest, ">")
    if text.startswith("struct<"):
        return _take_struct(text[7:])
    if simple := _SIMPLE.match(text):
        name = simple.group()
        return _NAMES.get(name, name), text[simple.end() :]
    raise ValueError(f"a type of Hive's, not {text}")


def _take_struct(rest: str) -> tuple[Any, str]:
    fields = []
    while True:
        if (name := _FIELD.match(rest)) is None:
            raise ValueError(f"a field, not {rest}")
        kind, rest = _take(rest[name.end() :])
        fields.append(_field(name[1], kind))
        if not rest.startswith(","):
            return {"type": "struct", "fields": fields}, _after(rest, ">")
        rest = rest[1:]


def _after(text: str, mark: str) -> str:
    if not text.startswith(mark):
        raise ValueError(f"{mark}, not {text}")
    return text[len(mark) :]
