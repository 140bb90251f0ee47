"""Statements as Spark's own parser reads them: what kind, which table, and the parts that are expressions.

Expressions stay Spark's objects, and Spark resolves and computes them: no text is cut out of a statement, because what
the parser knows of positions is not exact.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from lakemerge.engine.spark.releases import insert_that_replaces
from lakemerge.engine.spark.scala import each, elements, kind_of, optional

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Kind = Literal["delete", "update", "merge into", "insert", "truncate"]

# The names of the parser's classes.
_KINDS: dict[str, Kind] = {
    "DeleteFromTable": "delete",
    "UpdateTable": "update",
    "MergeIntoTable": "merge into",
    "InsertIntoStatement": "insert",
    "TruncateTable": "truncate",
    "TruncatePartition": "truncate",
}
# A text without any of these words is no such statement, and need not be parsed for it.
_WORDS = re.compile(r"\b(delete|update|merge|insert|truncate)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Assignment:
    """``column.field = value`` of an UPDATE, or a column of an INSERT with its value.

    Attributes:
        path: the column, and the fields within it; perhaps after the name of the table.
        value: Spark's expression.
    """

    path: tuple[str, ...]
    value: Any


@dataclass(frozen=True)
class Clause:
    """A WHEN clause of a MERGE.

    Attributes:
        action: what it does.
        condition: Spark's expression; ``None`` for a clause that always holds.
        assignments: of an update or insert; empty where it takes all columns (``*``).
    """

    action: Literal["update", "delete", "insert"]
    condition: Any = None
    assignments: tuple[Assignment, ...] = ()
    takes_all: bool = False


@dataclass(frozen=True)
class Statement:
    """A statement.

    Attributes:
        target: the parts of the table's name, as they are written.
        alias: the name that the statement gives the table; empty for none.
        plan: Spark's plan of the statement, as it was parsed.
        with_clause: Spark's plan of the ``WITH`` around it; ``None`` without one.
        others: the names of the tables of further INSERTs after one FROM.
        replaced: Spark 3.5's condition of REPLACE WHERE; Spark 4 has it in the plan.
        erases: whether a DELETE leaves nothing behind: no row below a delta, no version of the keys of a history.
    """

    kind: Kind
    target: tuple[str, ...]
    alias: str
    plan: Any
    with_clause: Any = None
    others: tuple[tuple[str, ...], ...] = ()
    replaced: Any = None
    erases: bool = False

    @property
    def condition(self) -> Any:
        """Spark's expression of a DELETE or an UPDATE; ``None`` for all rows."""
        found = self.plan.condition()
        return found if self.kind == "delete" else optional(found)

    @property
    def assignments(self) -> tuple[Assignment, ...]:
        """Of an UPDATE."""
        return _assignments(self.plan.assignments())


@dataclass(frozen=True)
class MergeParts:
    """What a MERGE says.

    Attributes:
        source: Spark's plan of the source.
        condition: Spark's expression after ON.
        matched, inserting, unmatched: the clauses WHEN MATCHED, WHEN NOT MATCHED, and WHEN NOT MATCHED BY SOURCE.
        evolves: whether it says WITH SCHEMA EVOLUTION.
    """

    source: Any
    condition: Any
    matched: tuple[Clause, ...] = ()
    inserting: tuple[Clause, ...] = ()
    unmatched: tuple[Clause, ...] = ()
    evolves: bool = False

    @property
    def clauses(self) -> tuple[Clause, ...]:
        return (*self.matched, *self.inserting, *self.unmatched)

    @classmethod
    def of(cls, plan: Any) -> MergeParts:
        """Those of a plan of MERGE INTO."""
        return cls(
            plan.sourceTable(),
            plan.mergeCondition(),
            tuple(map(_clause, each(plan.matchedActions()))),
            tuple(map(_clause, each(plan.notMatchedActions()))),
            tuple(map(_clause, each(plan.notMatchedBySourceActions()))),
            bool(elements(plan).get("withSchemaEvolution")),
        )


def statement_of(spark: SparkSession, sql: str) -> Statement | None:
    """The statement that a text is; ``None`` for everything else, such as a query, and where Spark cannot read it."""
    from pyspark.errors import PySparkException

    if not _WORDS.search(sql):
        return None
    try:
        plan = spark._jsparkSession.sessionState().sqlParser().parsePlan(sql)
    except PySparkException:
        # Spark says so itself when the text is run
        return None
    with_clause = plan if kind_of(plan) == "UnresolvedWith" else None
    inner = plan.child() if with_clause else plan
    inserts: list[Any] = []
    if kind_of(inner) == "Union":
        # FROM … INSERT INTO … INSERT INTO …
        inserts = [child for child in each(inner.children()) if kind_of(child) == "InsertIntoStatement"]
        inner = inserts[0] if inserts else inner
    replaced = None
    if kind_of(inner) == "OverwriteByExpression":
        inner, replaced = insert_that_replaces(spark, inner)
    kind = _KINDS.get(kind_of(inner))
    if kind is None:
        return None
    alias, target = _table_of(inner, kind)
    if target is None:
        return None
    others = [_table_of(one, "insert")[1] or () for one in inserts[1:]]
    return Statement(kind, target, alias, inner, with_clause, tuple(others), replaced)


def _table_of(plan: Any, kind: Kind) -> tuple[str, tuple[str, ...] | None]:
    """The name that a statement gives its table, and the parts of the table's own name."""
    table = (
        plan.targetTable() if kind == "merge into" else plan.child() if kind == "truncate" else plan.table()
    )
    alias = ""
    if kind_of(table) == "SubqueryAlias":
        alias, table = str(table.alias()), table.child()
    if kind_of(table) not in ("UnresolvedRelation", "UnresolvedTable", "UnresolvedTableOrView"):
        return alias, None
    return alias, tuple(map(str, each(table.multipartIdentifier())))


def _clause(action: Any) -> Clause:
    name, condition = kind_of(action), optional(action.condition())
    if name == "DeleteAction":
        return Clause("delete", condition)
    what: Literal["update", "insert"] = "update" if name.startswith("Update") else "insert"
    if name.endswith("StarAction"):
        return Clause(what, condition, takes_all=True)
    return Clause(what, condition, _assignments(action.assignments()))


def _assignments(found: Any) -> tuple[Assignment, ...]:
    return tuple(Assignment(tuple(map(str, each(one.key().nameParts()))), one.value()) for one in each(found))
