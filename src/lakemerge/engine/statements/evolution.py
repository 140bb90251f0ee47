"""Columns that MERGE WITH SCHEMA EVOLUTION brings into a table: those of the source that its clauses assign."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyspark.sql.types import StructField, StructType

from lakemerge.engine.relations.nested_types import evolved, same_type
from lakemerge.engine.relations.table_schema import SchemaPlan, plan_change, spark_type
from lakemerge.engine.statements.parsing import Clause
from lakemerge.kernel import HiveColumn


def assigned_fields(source: StructType, clauses: Sequence[Clause]) -> StructType:
    """The columns of a source that clauses give the table's columns of the same name."""
    named = {
        part.lower() for clause in clauses for assignment in clause.assignments for part in assignment.path
    }
    takes_all = any(clause.takes_all for clause in clauses)
    return StructType([field for field in source.fields if takes_all or field.name.lower() in named])


def evolving(
    offered: StructType,
) -> Callable[[Sequence[HiveColumn], Sequence[HiveColumn]], SchemaPlan]:
    """Plans a table's columns with these that it lacks, and with the fields that its structs lack; no type changes."""

    def plan(data: Sequence[HiveColumn], partitions: Sequence[HiveColumn]) -> SchemaPlan:
        stored = {column.name: spark_type(column.type) for column in (*data, *partitions)}
        fields = []
        for field in offered.fields:
            kind = stored.get(field.name.lower())
            if kind is None:
                fields.append(field)
                continue
            wider = evolved(kind, field.dataType, lambda one, _: one, adds=True)
            if not same_type(wider, kind):
                fields.append(StructField(field.name, wider))
        return plan_change(StructType(fields), data, partitions, "append_new_columns")

    return plan
