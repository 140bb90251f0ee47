"""Which partitions a condition can hold in, as far as the partitions themselves show it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lakemerge.engine.layout.partitions import Partitions
from lakemerge.engine.relations.file_frames import values_of
from lakemerge.engine.sql_text import quote
from lakemerge.engine.statements.plans import Plans
from lakemerge.engine.statements.scala import each, kind_of

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
    conjuncts = plans.conjuncts(condition)
    keys = {column.name for column in partitions.columns}
    of_keys = [one for one in conjuncts if _reads(plans, one, alias) <= keys]
    if not of_keys:
        return Reach(stored, False)
    _define(plans.spark, partitions)
    frame = alias(plans.table(PARTITIONS))
    for one in of_keys:
        frame = plans.filtered(frame, one)
    found = plans.frame(plans.selected(frame, [quote(_NAME)])).collect()
    return Reach([row[0] for row in found], len(of_keys) == len(conjuncts))


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
    joined = plans.analyzed(plans.joined(alias(None), source, "inner", condition))
    if kind_of(joined) == "WithCTE":
        joined = joined.plan()
    own, keys = joined.left().outputSet(), {column.name for column in partitions.columns}
    resolved = plans.conjuncts(joined.condition().get())
    conjuncts = plans.conjuncts(condition)
    if len(resolved) != len(conjuncts):
        return stored
    of_keys = [
        one
        for one, known in zip(conjuncts, resolved, strict=True)
        if {str(column.name()).lower() for column in each(known.references().intersect(own).toSeq())} <= keys
        and bool(known.deterministic())
    ]
    if not of_keys:
        return stored
    _define(plans.spark, partitions)
    on = of_keys[0]
    for one in of_keys[1:]:
        on = plans.both(on, one)
    rows = plans.joined(alias(plans.table(PARTITIONS)), source, "leftsemi", on)
    return [row[0] for row in plans.frame(plans.selected(rows, [quote(_NAME)])).collect()]


def _reads(plans: Plans, condition: Any, alias: Any) -> set[str]:
    """The columns of the table that a condition reads, in lower case; those of correlated subqueries included."""
    analyzed = plans.analyzed(plans.filtered(alias(None), condition))
    if kind_of(analyzed) == "WithCTE":
        analyzed = analyzed.plan()
    names = {str(one.name()).lower() for one in each(analyzed.condition().references().toSeq())}
    return names if bool(analyzed.condition().deterministic()) else names | {""}


def _define(spark: SparkSession, partitions: Partitions) -> None:
    import pyarrow

    columns: Sequence[Any] = partitions.columns
    names = partitions.stored
    values = [values_of(name) for name in names]
    texts = {
        _NAME: names,
        **{column.name: [row[place] for row in values] for place, column in enumerate(columns)},
    }
    # of an Arrow table, so that executors need no Python
    arrow = pyarrow.table({name: pyarrow.array(column, pyarrow.string()) for name, column in texts.items()})
    typed = [f"cast({quote(column.name)} as {column.type}) as {quote(column.name)}" for column in columns]
    spark.createDataFrame(arrow).selectExpr(quote(_NAME), *typed).createOrReplaceTempView(PARTITIONS)
