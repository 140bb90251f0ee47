"""The columns of records: their types as trees, which macros turn into checks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import types as spark_types
from pyspark.sql.types import DataType, StructField, StructType

from lakemerge.engine.ingest.ingest_options import IngestOptions
from lakemerge.engine.options.append import COMMIT_COLUMN
from lakemerge.engine.relations.nested_types import cast_by_name
from lakemerge.engine.relations.sized_text import CHAR_TYPE
from lakemerge.engine.relations.table_schema import (
    check_names,
    comparable,
    spark_type,
    stores_losslessly,
)
from lakemerge.engine.sql_text import literal, quote
from lakemerge.errors import InvalidConfig, UnsupportedColumnType

_KINDS: Mapping[type[DataType], str] = {
    spark_types.StringType: "string",
    spark_types.ByteType: "integer",
    spark_types.ShortType: "integer",
    spark_types.IntegerType: "integer",
    spark_types.LongType: "integer",
    spark_types.DecimalType: "decimal",
    spark_types.FloatType: "float",
    spark_types.DoubleType: "float",
    spark_types.BooleanType: "boolean",
    spark_types.DateType: "date",
    spark_types.TimestampType: "timestamp",
    spark_types.BinaryType: "binary",
}
_CHARACTERS = re.compile(r"(?:var)?char\s*\(\s*(\d+)\s*\)", re.IGNORECASE)


@dataclass(frozen=True)
class ValueType:
    """A type as a tree.

    Attributes:
        kind: ``string``, ``char`` (of at most ``length`` characters), ``integer``, ``decimal``, ``float``, ``boolean``,
            ``date``, ``timestamp``, ``binary``, ``array``, ``map`` or ``struct``.
        sql: the type's name.
        element: the type of an array's items, or of a map's values.
        key: the type of a map's keys.
        members: names and types of a struct's members.
    """

    kind: str
    sql: str
    scale: int = 0
    length: int = 0
    element: ValueType | None = None
    key: ValueType | None = None
    members: tuple[tuple[str, ValueType], ...] = ()

    @property
    def depth(self) -> int:
        """How deep it is nested: 0 for simple types."""
        return 1 + max(part.depth for part in self._parts) if self._parts else 0

    @property
    def _parts(self) -> list[ValueType]:
        found = [part for part in (self.element, self.key) if part]
        return found + [member for _, member in self.members]

    @property
    def has_times(self) -> bool:
        """Whether it contains dates or time stamps."""
        return self.kind in ("date", "timestamp") or any(part.has_times for part in self._parts)

    @property
    def has_numbers(self) -> bool:
        """Whether it contains numbers that may have a fraction."""
        return self.kind in ("decimal", "float") or any(part.has_numbers for part in self._parts)

    @property
    def numbers_sql(self) -> str:
        """The type with texts in the place of such numbers, and without members that have no such numbers."""
        if self.element is not None:
            inner = self.element.numbers_sql
            return f"map<string,{inner}>" if self.kind == "map" else f"array<{inner}>"
        members = [f"{quote(name)}:{part.numbers_sql}" for name, part in self.members if part.has_numbers]
        return f"struct<{','.join(members)}>" if self.members else "string"

    @property
    def member_names(self) -> str:
        """The names of a struct's members as SQL literals."""
        return ", ".join(literal(name) for name, _ in self.members)

    @classmethod
    def of(cls, text: str) -> ValueType:
        """Read a type's name. Raises UnsupportedColumnType."""
        characters = _CHARACTERS.fullmatch(text.strip())
        if characters:
            return cls("char", "string", length=int(characters[1]))
        return cls._of(spark_type(text))

    @classmethod
    def _of(cls, kind: DataType) -> ValueType:
        sql = kind.simpleString()
        if isinstance(kind, spark_types.ArrayType):
            return cls("array", sql, element=cls._of(kind.elementType))
        if isinstance(kind, spark_types.MapType):
            return cls("map", sql, key=cls._of(kind.keyType), element=cls._of(kind.valueType))
        if isinstance(kind, StructType):
            members = tuple((field.name, cls._of(field.dataType)) for field in kind.fields)
            return cls("struct", sql, members=members)
        known = _KINDS.get(type(kind))
        if known is None:
            raise UnsupportedColumnType(
                expected="a type that records can be read into",
                found=sql,
                action="Use a string, number, boolean, date, timestamp, binary, array, map or struct.",
            )
        return cls(known, sql, scale=kind.scale if isinstance(kind, spark_types.DecimalType) else 0)


@dataclass(frozen=True)
class RecordColumn:
    """A column of an ingest's table.

    Attributes:
        field: what it is called in the records.
        constant: SQL of the value of all rows; empty for a column that records have.
        shown: the name as the yml spells it, where that is not in lower case.
    """

    name: str
    declared: str
    type: ValueType
    field: str
    constant: str = ""
    shown: str = ""

    @property
    def quoted(self) -> str:
        return quote(self.name)

    @property
    def stored_type(self) -> str:
        """The column's type in the metastore; of a nested one, its simple name in Spark."""
        return re.sub(r"\s", "", self.declared.lower()) if self.type.kind == "char" else self.type.sql

    @property
    def spark_field(self) -> StructField:
        """The column in Spark's schemas."""
        if self.type.kind == "char":
            metadata = {CHAR_TYPE: self.stored_type}
            return StructField(self.shown or self.name, spark_types.StringType(), True, metadata)
        return StructField(self.shown or self.name, spark_type(self.type.sql), True)


def record_columns(model: Mapping[str, Any], options: IngestOptions) -> tuple[RecordColumn, ...]:
    """The columns of a model's yml, in its order, and the columns recorded for each record.

    The yml may describe the recorded columns and the commit column too; this does not change what they hold.

    Raises:
        InvalidConfig: there are none, or some have no data_type, or options name columns that are not there.
        IncompatibleColumn: some have names of ours; their fields may have them (`meta: {field: …}`).
        UnsupportedColumnType: a type that records cannot be read into.
    """
    own = {name: options.record_kinds[name][0] for name in options.record_columns}
    own[str(model["config"].get("commit_column") or COMMIT_COLUMN).lower()] = "bigint"
    declared, problems = [], []
    for column in (model.get("columns") or {}).values():
        name, kind = str(column["name"]).lower(), str(column.get("data_type") or "")
        if name not in own:
            declared.append(column)
            problems += [] if kind else [f"{column['name']} has no data_type"]
        elif kind.lower() not in ("", own[name]):
            problems.append(f"{column['name']} has the data_type {kind}, and is {own[name]}")
    if not declared:
        problems.append("the model has no columns in a yml file")
    names = [column["name"].lower() for column in declared]
    problems += [
        f"partition_values names {n}, which is no column" for n in options.partition_values if n not in names
    ]
    check_names(names)
    if not problems:
        columns = [_column(column, options) for column in declared]
        problems += _too_deep(columns, options)
    if problems:
        raise InvalidConfig(
            expected="the columns of the records, each with its data_type, in the model's yml",
            found="; ".join(problems),
            action="Declare them; an ingest takes its schema from there.",
        )
    recorded = (
        RecordColumn(name, kind, ValueType.of(kind), name, value)
        for name, (kind, value) in ((name, options.record_kinds[name]) for name in options.record_columns)
    )
    return (*columns, *recorded)


def _column(column: Mapping[str, Any], options: IngestOptions) -> RecordColumn:
    name = str(column["name"]).lower()
    kind = ValueType.of(str(column["data_type"]))
    constant = ""
    if name in options.partition_values:
        constant = _constant_sql(options.partition_values[name], kind)
    meta = {**(column.get("meta") or {}), **((column.get("config") or {}).get("meta") or {})}
    field = str(meta.get("field", column["name"]))
    return RecordColumn(name, str(column["data_type"]), kind, field, constant, str(column["name"]))


def _constant_sql(value: Any, kind: ValueType) -> str:
    if value is None:
        return f"cast(null as {kind.sql})"
    try:
        text = literal(str(value))
    except ValueError:
        # Python does not write a number of thousands of digits as text; the check of the values refuses it
        text = "''"
    return f"to_binary({text}, 'base64')" if kind.kind == "binary" else f"cast({text} as {kind.sql})"


def _too_deep(columns: Iterable[RecordColumn], options: IngestOptions) -> list[str]:
    """The types that a format has no notation for."""
    if options.format in ("delimited", "regex"):
        return [
            f"{column.name} is nested twice, for which format '{options.format}' has no delimiter"
            for column in columns
            if column.type.depth > 1
        ]
    return [
        f"{column.name} has keys that are no strings" for column in columns if _has_other_keys(column.type)
    ]


def _has_other_keys(kind: ValueType) -> bool:
    if kind.key is not None and kind.key.kind != "string":
        return True
    children = [child for child in (kind.element, *(member for _, member in kind.members)) if child]
    return any(_has_other_keys(child) for child in children)


@dataclass(frozen=True)
class TypedField:
    """How a column is read from something that has a type of its own, such as a column of a file.

    Attributes:
        source: SQL of what is read.
        value: SQL of its value in the column's type.
        exact: SQL that is true where the value loses nothing of the source.
    """

    source: str
    value: str
    exact: str


def typed_field(column: RecordColumn, schema: StructType) -> TypedField | None:
    """How the column is read from a file; ``None`` if its schema has no such column, or one of an unrelated type."""
    found = next((field for field in schema.fields if field.name.lower() == column.field.lower()), None)
    return (
        None if found is None else typed_value(column, f"_lakemerge_row.{quote(found.name)}", found.dataType)
    )


def typed_value(column: RecordColumn, name: str, source: DataType) -> TypedField | None:
    """How the column is read from something with a type; ``None`` if that type is unrelated to the column's.

    Args:
        name: SQL of what is read.
    """
    target = column.spark_field.dataType
    if column.type.kind == "char":
        return (
            TypedField(name, name, f"char_length({name}) <= {column.type.length}")
            if _is_text(source)
            else None
        )
    if source.simpleString() == target.simpleString():
        return TypedField(name, name, "true")
    if _is_text(target) != _is_text(source):
        return None
    if stores_losslessly(source, target):
        value = cast_by_name(name, source, target)
        # a time without a zone, or midnight of a date, may be one that the session's zone does not have
        same = f"{comparable(cast_by_name(value, target, source), source)} <=> {comparable(name, source)}"
        return TypedField(name, value, same if column.type.has_times else "true")
    simple = isinstance(source, spark_types.AtomicType) and isinstance(target, spark_types.AtomicType)
    numbers = isinstance(source, spark_types.NumericType) and isinstance(target, spark_types.NumericType)
    if not (simple and numbers):
        return None
    value = f"try_cast({name} as {column.type.sql})"
    return TypedField(name, value, f"try_cast({value} as {source.simpleString()}) <=> {name}")


def _is_text(kind: DataType) -> bool:
    return isinstance(kind, spark_types.StringType)
