"""Which partitions a condition can hold in, as far as the partitions themselves show it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lakemerge.engine.layout.partitions import Partitions
from lakemerge.engine.relations.file_frames import values_of
from lakemerge.engine.spark.scala import each
from lakemerge.engine.spark.small_frames import small_frame
from lakemerge.engine.sql_text import literal, quote
from lakemerge.engine.statements.plans import Plans

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_NAME = "__lakemerge_partition"
#: The temporary view of the table's partitions: a row for each, with the partition columns and its name.
PARTITIONS = "lakemerge_partitions"


@dataclass(frozen=True)
class Reach:
    """Partitions that a condition can hold in.

    Attributes:
        names: of the partitions.
        is_exact: whether the condition holds for all of their rows.
    """

    names: list[str]
    is_exact: bool


def reach_of(plans: Plans, condition: Any, alias: Any, partitions: Partitions) -> Reach:
    """The partitions that a condition over a table's rows can hold in.

    Args:
        condition: Spark's expression; ``None`` for all rows.
        alias: makes a plan of rows with the table's columns one that the condition can be resolved over.
    """
    stored = partitions.stored
    if condition is None:
        return Reach(stored, True)
    if not partitions or not stored:
        return Reach(stored, False)
    resolved = plans.resolved(plans.filtered(alias(None), condition))
    of_keys = _of_keys(plans, condition, resolved.condition(), resolved.child(), partitions)
    if not of_keys:
        return Reach(stored, False)
    _define(plans.spark, partitions)
    rows = plans.filtered(alias(plans.table(PARTITIONS)), plans.all_of(of_keys))
    return Reach(_names_of(plans, rows), len(of_keys) == len(plans.conjuncts(condition)))


def joined_reach(plans: Plans, condition: Any, alias: Any, source: Any, partitions: Partitions) -> list[str]:
    """The partitions with rows that may match some of a source's, as far as partitions and source show it.

    Args:
        condition: Spark's expression over the rows of both.
        alias: see :func:`reach_of`.
        source: a plan of the source's rows.
    """
    stored = partitions.stored
    if not partitions or not stored:
        return stored
    resolved = plans.resolved(plans.joined(alias(None), source, "inner", condition))
    of_keys = _of_keys(plans, condition, resolved.condition().get(), resolved.left(), partitions)
    if not of_keys:
        return stored
    _define(plans.spark, partitions)
    rows = alias(plans.table(PARTITIONS))
    return _names_of(plans, plans.joined(rows, source, "leftsemi", plans.all_of(of_keys)))


def equal_to(values: Mapping[str, str | None]) -> str:
    """SQL that is true where columns have these values, given as texts; true everywhere without any."""
    terms = (
        f"{quote(name)} <=> {'null' if value is None else literal(value)}" for name, value in values.items()
    )
    return " and ".join(terms) or "true"


def _of_keys(plans: Plans, condition: Any, resolved: Any, table: Any, partitions: Partitions) -> list[Any]:
    """Those of the conditions joined by AND that read no other columns of the table than its partition columns.

    Args:
        resolved: the condition as Spark has resolved it.
        table: the resolved plan of the table's rows.
    """
    conjuncts, known = plans.conjuncts(condition), plans.conjuncts(resolved)
    if len(conjuncts) != len(known):
        return []
    own, keys = table.outputSet(), {column.name for column in partitions.columns}

    def reads(one: Any) -> set[str]:
        # what a correlated subquery reads of the table is among them
        return {str(column.name()).lower() for column in each(one.references().intersect(own).toSeq())}

    pairs = zip(conjuncts, known, strict=True)
    return [one for one, found in pairs if reads(found) <= keys and bool(found.deterministic())]


def _names_of(plans: Plans, rows: Any) -> list[str]:
    return [row[0] for row in plans.frame(plans.selected(rows, [quote(_NAME)])).collect()]


def _define(spark: SparkSession, partitions: Partitions) -> None:
    columns: Sequence[Any] = partitions.columns
    names = partitions.stored
    rows = [(name, *values_of(name)) for name in names]
    kinds = dict.fromkeys([_NAME, *(column.name for column in columns)], "string")
    typed = [f"cast({quote(column.name)} as {column.type}) as {quote(column.name)}" for column in columns]
    small_frame(spark, rows, kinds).selectExpr(quote(_NAME), *typed).createOrReplaceTempView(PARTITIONS)
