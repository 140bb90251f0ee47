"""The columns that a statement assigns, and what they become."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql.types import DataType, StructType

from lakemerge.engine.relations.sized_text import unsized
from lakemerge.engine.relations.store_assignment import assigned, type_within, with_fields
from lakemerge.engine.relations.table_schema import ColumnPlan, spark_type
from lakemerge.engine.spark.scala import each, kind_of
from lakemerge.engine.sql_text import quote
from lakemerge.engine.statements.parsing import Assignment
from lakemerge.engine.statements.plans import Plans
from lakemerge.errors import IncompatibleColumn

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Assigned:
    """A column, or a field within it, that gets another value.

    Attributes:
        column: its name in lower case.
        fields: the names of the fields on the way to the value; none for the whole column.
        value: Spark's expression; ``None`` for the column's default.
        name: the column of the value in the view of the changed rows.
    """

    column: str
    fields: tuple[str, ...]
    value: Any
    name: str


def assignments_of(
    assignments: Iterable[Assignment],
    qualifiers: Sequence[Sequence[str]],
    columns: Iterable[str],
    prefix: str,
) -> list[Assigned]:
    """What a list of assignments means in a table.

    Args:
        qualifiers: what may stand before a column's name, each as a list of names.
        columns: the table's, in lower case.
        prefix: of the names that the values get.

    Raises:
        IncompatibleColumn: a column is not there, or assigned twice.
    """
    known, found = set(columns), []
    for number, one in enumerate(assignments, 1):
        path = _within(one.path, qualifiers, known)
        if path[0].lower() not in known:
            raise IncompatibleColumn(
                expected=f"columns of the table ({', '.join(sorted(known))})",
                found=".".join(one.path),
                action="Correct the name.",
            )
        value = None if _is_default(one.value) and "default" not in known else one.value
        found.append(Assigned(path[0].lower(), tuple(path[1:]), value, f"{prefix}{number}"))
    _require_distinct(found)
    return found


def all_columns(
    source: Iterable[str], columns: Iterable[str], plans: Plans, alias: str, prefix: str
) -> list[Assigned]:
    """The assignments of ``*``: each column of the table gets the source's column of its name.

    Raises:
        IncompatibleColumn: the source lacks a column.
    """
    there = {name.lower(): name for name in source}
    wanted = list(columns)
    if missing := [name for name in wanted if name not in there]:
        raise IncompatibleColumn(
            expected="a source with all columns of the table, for *",
            found=f"none named {', '.join(missing)}",
            action="Name the columns in the clause, or add them to the source.",
        )
    return [
        Assigned(name, (), plans.expression(f"{quote(alias)}.{quote(there[name])}"), f"{prefix}{number}")
        for number, name in enumerate(wanted, 1)
    ]


def columns_of_values(plans: Plans, found: Iterable[Assigned], when: Any = None) -> list[Any]:
    """The values as columns of a plan.

    Args:
        when: a condition outside of which they are null, and not computed.
    """
    return [
        plans.named(one.value if when is None else plans.chosen([(when, one.value)], "null"), one.name)
        for one in found
        if one.value is not None
    ]


def new_values(
    spark: SparkSession,
    columns: Sequence[ColumnPlan],
    found: Sequence[Assigned],
    raw: StructType,
    *,
    is_stored: bool = True,
) -> dict[str, str]:
    """SQL of the columns of the table that get another value than the stored one, over the view of the changed rows.

    Args:
        raw: the view's schema: the table's columns, and the values.
        is_stored: whether the view has stored rows; otherwise what is not assigned gets its default.

    Raises:
        IncompatibleColumn: a value cannot be stored in its column.
    """
    types = {field.name: field.dataType for field in raw.fields}
    defaults = {
        field.name.lower(): str(field.metadata["CURRENT_DEFAULT"])
        for field in raw.fields
        if "CURRENT_DEFAULT" in field.metadata
    }
    values = {}
    for column in columns:
        plain = unsized(column.type)
        default = defaults.get(column.name, f"cast(null as {plain})")
        own = [one for one in found if one.column == column.name]
        if own:
            fields = {one.fields: _value(spark, column, one, types, default) for one in own}
            kind = spark_type(plain)
            if () in fields:
                values[column.name] = fields[()]
            else:
                assert isinstance(kind, StructType)
                values[column.name] = f"cast({with_fields(column.quoted, kind, fields)} as {plain})"
        elif not is_stored:
            values[column.name] = default
    return values


def _value(
    spark: SparkSession, column: ColumnPlan, one: Assigned, types: Mapping[str, DataType], default: str
) -> str:
    """SQL of a value in the type of its column or field."""
    if one.value is None:
        return "null" if one.fields else default
    target = type_within(spark_type(unsized(column.type)), one.fields, column.name)
    kind = target.simpleString() if one.fields else column.type
    return assigned(spark, quote(one.name), types[one.name], kind, ".".join((column.name, *one.fields)))


def _within(path: Sequence[str], qualifiers: Sequence[Sequence[str]], known: set[str]) -> Sequence[str]:
    """A path without the name of the table before it."""
    for names in qualifiers:
        size = len(names)
        before = [part.lower() for part in path[:size]]
        if len(path) > size and before == [name.lower() for name in names] and path[size].lower() in known:
            return path[size:]
    return path


def _is_default(value: Any) -> bool:
    if kind_of(value) != "UnresolvedAttribute":
        return False
    names = [str(part).lower() for part in each(value.nameParts())]
    return names == ["default"]


def _require_distinct(found: Sequence[Assigned]) -> None:
    paths = [(one.column, *(name.lower() for name in one.fields)) for one in found]
    for place, path in enumerate(paths):
        if any(other[: len(path)] == path for other in paths[:place] + paths[place + 1 :]):
            raise IncompatibleColumn(
                expected="each column to be assigned once",
                found=f"{'.'.join(path)} more than once",
                action="Leave one of the assignments out.",
            )
