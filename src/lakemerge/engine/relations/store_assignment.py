"""Values as a column stores them, by the rules of SQL for assignments (Spark's store assignment policy ANSI)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pyspark.sql.types import DataType, NullType, StructType

from lakemerge.engine.relations.casts import loses
from lakemerge.engine.relations.nested_types import cast_by_name, field_of, lost_value, pairs, same_type
from lakemerge.engine.relations.sized_text import fitted, unsized
from lakemerge.engine.relations.table_schema import spark_type
from lakemerge.engine.sql_text import literal
from lakemerge.errors import IncompatibleColumn

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_REFUSED = re.compile(
    r"Expected (values for .*? that fit the column); found (one of .*? that does not)\.", re.DOTALL
)


def assigned(spark: SparkSession, value: str, source: DataType, kind: str, column: str) -> str:
    """SQL of a value in a column's type. A value that does not fit fails the query; see :func:`as_unfit`.

    The fields of structs are matched by name.

    Args:
        value: SQL of a value of the type ``source``.
        kind: the column's Hive type.
        column: its name, for messages.

    Raises:
        IncompatibleColumn: no value of the type can be stored, such as a text in an ``int``.
    """
    target = spark_type(unsized(kind))
    if isinstance(source, NullType):
        return f"cast(null as {unsized(kind)})"
    if problems := _problems(spark, source, target, column):
        raise IncompatibleColumn(
            expected="values that can be stored in their columns",
            found="; ".join(problems),
            action="Nothing was changed. Cast them in the statement.",
        )
    if same_type(source, target):
        return fitted(cast_by_name(value, source, target), kind, column)
    expected = (
        f"Expected values for {column} ({kind}) that fit the column; found one of {source.simpleString()} "
    )
    refused = f"raise_error({literal(expected + 'that does not.')})"
    cast = cast_by_name(value, source, target)
    return fitted(f"if({lost_value(value, source, target, loses)}, {refused}, {cast})", kind, column)


def with_fields(value: str, kind: StructType, fields: Mapping[tuple[str, ...], str]) -> str:
    """SQL of a struct in which some fields have other values. As with Spark, a null becomes a struct of them.

    Args:
        value: SQL of the struct.
        fields: SQL of the new values, by the path to each.
    """
    members = []
    for field in kind.fields:
        old = f"{value}[{literal(field.name)}]"
        inside = {path[1:]: sql for path, sql in fields.items() if path[0].lower() == field.name.lower()}
        if () in inside:
            new = inside[()]
        elif inside and isinstance(field.dataType, StructType):
            new = with_fields(old, field.dataType, inside)
        else:
            new = old
        members.append(f"{literal(field.name)}, {new}")
    return f"named_struct({', '.join(members)})"


def type_within(kind: DataType, path: Sequence[str], column: str) -> DataType:
    """The type of a field within structs. Raises IncompatibleColumn where there is none."""
    for name in path:
        match = field_of(kind, name) if isinstance(kind, StructType) else None
        if match is None:
            raise IncompatibleColumn(
                expected=f"a field {name} in {column}",
                found=kind.simpleString(),
                action="Correct the name. The items of arrays and maps cannot be assigned one by one.",
            )
        kind = match.dataType
    return kind


def as_unfit(error: Exception) -> IncompatibleColumn | None:
    """The error for a value that :func:`assigned` has refused; ``None`` for an error of another kind."""
    found = _REFUSED.search(str(error))
    if found is None:
        return None
    return IncompatibleColumn(
        expected=found[1], found=found[2], action="Nothing was published. Cast or correct it."
    )


def _problems(spark: SparkSession, source: DataType, target: DataType, column: str) -> list[str]:
    jvm = spark._jvm
    assert jvm is not None
    cast, types = jvm.org.apache.spark.sql.catalyst.expressions.Cast, jvm.org.apache.spark.sql.types.DataType
    problems = []
    for pair in pairs(source, target, column):
        if pair.target is None:
            problems.append(f"{pair.path}, which the table does not have")
        elif pair.source is None:
            problems.append(f"no {pair.path}")
        elif not cast.canANSIStoreAssign(
            types.fromJson(pair.source.json()), types.fromJson(pair.target.json())
        ):
            problems.append(f"{pair.path}: {pair.source.simpleString()} into {pair.target.simpleString()}")
    return problems
