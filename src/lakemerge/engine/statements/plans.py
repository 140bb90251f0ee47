"""Queries made of a statement's expressions: plans that Spark resolves, as frames."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from lakemerge.engine.spark.releases import dataset_class
from lakemerge.engine.spark.scala import java_class, kind_of, sequence
from lakemerge.engine.sql_text import quote
from lakemerge.errors import UnsupportedStatement

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Plans:
    """Makes plans from other plans and expressions in one session.

    Expressions may be Spark's objects or SQL.
    """

    def __init__(self, spark: SparkSession, with_clause: Any = None) -> None:
        """
        Args:
            with_clause: the plan of a ``WITH``, whose queries the plans may name.
        """
        self.spark = spark
        self._with = with_clause
        self._parser = spark._jsparkSession.sessionState().sqlParser()

    # -- expressions ---------------------------------------------------------------------------

    def expression(self, sql: str) -> Any:
        return self._parser.parseExpression(sql)

    def named(self, expression: Any, name: str) -> Any:
        """``expression as name``."""
        return self.expression(f"1 as {quote(name)}").withNewChildren(self._list([self._of(expression)]))

    def both(self, one: Any, other: Any) -> Any:
        return self._class("expressions.And")(self._of(one), self._of(other))

    def all_of(self, conditions: Sequence[Any]) -> Any:
        """The conditions, at least one, joined by AND."""
        found, *others = conditions
        for condition in others:
            found = self.both(found, condition)
        return found

    def either(self, conditions: Sequence[Any]) -> Any:
        """True where one of the conditions holds; of none, false."""
        found = self.expression("false")
        for condition in conditions:
            found = self._class("expressions.Or")(found, self.holds(condition))
        return found

    def holds(self, condition: Any) -> Any:
        """True where a condition is true, and false where it is false or null."""
        return self._class("expressions.EqualNullSafe")(self._of(condition), self.expression("true"))

    def fails(self, condition: Any) -> Any:
        """True where a condition is false or null."""
        return self._class("expressions.Not")(self.holds(condition))

    def chosen(self, cases: Iterable[tuple[Any, Any]], otherwise: Any) -> Any:
        """``case when … then … else … end``."""
        found = self._of(otherwise)
        for condition, value in reversed(list(cases)):
            found = self._class("expressions.If")(self.holds(condition), self._of(value), found)
        return found

    def conjuncts(self, condition: Any) -> list[Any]:
        """The conditions that are joined by AND."""
        if kind_of(condition) != "And":
            return [condition]
        return [*self.conjuncts(condition.left()), *self.conjuncts(condition.right())]

    def has_subquery(self, condition: Any) -> bool:
        """Whether a condition reads tables."""
        return bool(self._class("expressions.SubqueryExpression").hasSubquery(condition))

    def unpushed(self, condition: Any) -> Any:
        """A condition of which nothing gets into the readers of files that Spark's reader of ORC fails at.

        Where it compares a number with a list that has a null (3.5 to 4.3), or a decimal with a query's value that is
        null (seen with 4.3 alone). ``IN`` and ``EXISTS`` of a query are joins to Spark.
        """

        def fails(one: Any) -> bool:
            inner = one.child() if kind_of(one) == "Not" else one
            if kind_of(inner) in ("InSubquery", "Exists"):
                return False
            return self.has_subquery(one) or self._lists_unknown(one)

        return self.all_of([self.holds(one) if fails(one) else one for one in self.conjuncts(condition)])

    def _lists_unknown(self, condition: Any) -> bool:
        """Whether a condition has an ``IN``, and something that may be a null in its list."""
        patterns = self._class("trees.TreePattern")

        def has(pattern: Any) -> bool:
            return bool(condition.containsPattern(pattern))

        return has(patterns.IN()) and (has(patterns.NULL_LITERAL()) or has(patterns.UNRESOLVED_FUNCTION()))

    # -- plans ---------------------------------------------------------------------------------

    def table(self, name: str) -> Any:
        """All rows of a table or view."""
        return self._parser.parsePlan(f"table {name}")

    def aliased(self, plan: Any, alias: str, qualifier: Sequence[str] = ()) -> Any:
        """A plan whose columns may be written with a name before them.

        Args:
            qualifier: what may stand before that name, such as the schema.
        """
        identifier = self._class("AliasIdentifier")(alias, self._list(qualifier))
        return self._class("plans.logical.SubqueryAlias")(identifier, plan)

    def filtered(self, plan: Any, condition: Any) -> Any:
        return self._class("plans.logical.Filter")(self._of(condition), plan)

    def selected(self, plan: Any, items: Iterable[Any]) -> Any:
        """Args: items: expressions with names, or ``*``."""
        return self._class("plans.logical.Project")(self._list([self._of(item) for item in items]), plan)

    def joined(self, left: Any, right: Any, kind: str, condition: Any) -> Any:
        """A join.

        Args:
            kind: ``inner``, ``leftsemi`` or ``leftanti``.
        """
        join_type = self._class("plans.JoinType").apply(kind)
        some = java_class(self.spark, "scala.Option").apply(self._of(condition))
        hint = self._class("plans.logical.JoinHint").NONE()
        return self._class("plans.logical.Join")(left, right, join_type, some, hint)

    # -- frames --------------------------------------------------------------------------------

    def frames(self, *plans: Any) -> list[DataFrame]:
        """The plans' rows. Each mention of the current time is the same moment in all of them, whenever they are read.

        Raises:
            PySparkException: Spark cannot resolve one of them.
        """
        whole = plans[0]
        for plan in plans[1:]:
            # one plan, so that the moment is chosen once; it is never run
            whole = self.joined(whole, plan, "inner", "true")
        frozen = self._class("optimizer.ComputeCurrentTime").apply(self.analyzed(whole))
        definitions = None
        if kind_of(frozen) == "WithCTE":
            definitions, frozen = frozen.cteDefs(), frozen.plan()
        parts = []
        for _ in plans[1:]:
            parts.append(frozen.right())
            frozen = frozen.left()
        parts.append(frozen)
        if definitions is not None:
            parts = [self._class("plans.logical.WithCTE")(part, definitions) for part in parts]
        return [self._frame(part) for part in reversed(parts)]

    def frame(self, plan: Any) -> DataFrame:
        return self.frames(plan)[0]

    def analyzed(self, plan: Any) -> Any:
        """The plan as Spark resolves it."""
        if self._with is not None:
            plan = self._with.withNewChildren(self._list([plan]))
        return self._frame(plan)._jdf.queryExecution().analyzed()

    def resolved(self, plan: Any) -> Any:
        """As :meth:`analyzed`, without the queries of a ``WITH`` around it."""
        found = self.analyzed(plan)
        return found.plan() if kind_of(found) == "WithCTE" else found

    def _frame(self, plan: Any) -> DataFrame:
        from pyspark.sql import DataFrame

        frame = java_class(self.spark, dataset_class()).ofRows(self.spark._jsparkSession, plan)
        return DataFrame(frame, self.spark)

    def _class(self, name: str) -> Any:
        return java_class(self.spark, f"org.apache.spark.sql.catalyst.{name}")

    def _of(self, expression: Any) -> Any:
        return self.expression(expression) if isinstance(expression, str) else expression

    def _list(self, items: Iterable[Any]) -> Any:
        return sequence(self.spark, items)


def require_deterministic(frame: DataFrame, what: str) -> None:
    """Check that conditions and values are the same each time that they are computed.

    Args:
        what: the statement, for the message.

    Raises:
        UnsupportedStatement: they are not.
    """
    plan = frame._jdf.queryExecution().analyzed()
    if not bool(plan.deterministic()):
        raise UnsupportedStatement(
            expected=f"conditions and values of {what} that are the same whenever they are computed",
            found="a function that is not, such as rand() or uuid()",
            action="Write its values to a table first, and take them from there.",
        )
