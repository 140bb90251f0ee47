"""MERGE INTO."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lakemerge.engine.publish.driver import Counts
from lakemerge.engine.publish.node_transaction import NodeTransaction
from lakemerge.engine.spark.scala import each, kind_of
from lakemerge.engine.sql_text import quote
from lakemerge.engine.statements.assignments import (
    Assigned,
    all_columns,
    assignments_of,
    columns_of_values,
    new_values,
)
from lakemerge.engine.statements.conditions import joined_reach
from lakemerge.engine.statements.evolution import assigned_fields, evolving
from lakemerge.engine.statements.parsing import Clause, MergeParts
from lakemerge.engine.statements.plans import Plans, require_deterministic
from lakemerge.engine.statements.row_changes import KEPT, Changes, RowChanges
from lakemerge.errors import CardinalityViolation, UnsupportedStatement

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

# The rows of the source, computed once, and each row's number.
_SOURCE, _NUMBER = "lakemerge_source", "__lakemerge_source"
# Pairs of a stored row and a row of the source that match, with the number of the stored row in that query.
_PAIRS, _ROW = "lakemerge_pairs", "__lakemerge_row"
# Rows of the source that match none, and stored rows that none matches.
_INSERTING, _UNMATCHED = "lakemerge_inserting", "lakemerge_unmatched"
# The number of the first clause that holds; 0 for none.
_CLAUSE = "__lakemerge_clause"


@dataclass(frozen=True)
class Source:
    """The source of a merge, whose rows were computed once.

    Attributes:
        plan: of its rows, by the names that the statement gives it.
        columns: their names.
        alias: what may stand before a column's name.
    """

    plan: Any
    columns: Sequence[str]
    alias: str


@dataclass(frozen=True)
class Branch:
    """The clauses of one kind, with what each assigns."""

    clauses: Sequence[Clause]
    assigned: Sequence[Sequence[Assigned]]

    def conditions(self, plans: Plans) -> list[Any]:
        """The clauses' conditions."""
        return [clause.condition or plans.expression("true") for clause in self.clauses]

    def columns(self, plans: Plans) -> list[Any]:
        """The clause that holds for a row, and the values that it assigns, as columns."""
        conditions = self.conditions(plans)
        first = plans.chosen(
            [(one, plans.expression(str(number))) for number, one in enumerate(conditions, 1)], "0"
        )
        values = []
        for number, found in enumerate(self.assigned):
            when = conditions[number]
            for earlier in conditions[:number]:
                when = plans.both(plans.fails(earlier), when)
            values += columns_of_values(plans, found, when)
        return [plans.named(first, _CLAUSE), *values]

    def changes(
        self, driver: MergeInto, txn: NodeTransaction, view: str, schema: StructType
    ) -> list[Changes]:
        """What each clause does to the rows of a view."""
        found = []
        for number, (clause, assigned) in enumerate(zip(self.clauses, self.assigned, strict=True), 1):
            stored, values = clause.action != "insert", {}
            if clause.action != "delete":
                values = new_values(driver.session, txn.plan.columns, assigned, schema, is_stored=stored)
            found.append(Changes(view, clause.action, values, stored, f"{_CLAUSE} = {number}"))
        return found


class MergeInto(RowChanges):
    """Updates, deletes and inserts rows by what a source has for them; the first clause that holds wins."""

    operation = "merge into"

    def begin(self) -> NodeTransaction:
        if not self._evolves:
            return super().begin()
        plans, parts = self.plans(), MergeParts.of(self.statement.plan)
        source = plans.frame(plans.selected(parts.source, ["*"])).schema
        columns = evolving(assigned_fields(source, parts.clauses))
        return self.publisher.begin_alteration(self.operation, columns, changes_rows=True)

    def attempt(self, txn: NodeTransaction) -> Counts:
        plans, parts = self.plans(), MergeParts.of(self.statement.plan)
        self._require_possible(plans, parts)
        source = self._compute_source(plans, parts, txn)
        names = (
            txn.partitions.stored
            if parts.unmatched
            else joined_reach(plans, parts.condition, self.alias(plans, txn), source.plan, txn.partitions)
        )
        self.read(txn, names)
        changes = self._match(txn, plans, parts, source, self.within(txn, names))
        found = self.resolve(txn, changes, keeps=True)
        self.read_targets(txn, names, found)
        return self.stage(txn, found, checks=True)

    @property
    def _evolves(self) -> bool:
        return MergeParts.of(self.statement.plan).evolves

    def _require_possible(self, plans: Plans, parts: MergeParts) -> None:
        conditions = [parts.condition, *(one.condition for one in parts.clauses if one.condition is not None)]
        if any(plans.has_subquery(one) for one in conditions):
            raise UnsupportedStatement(
                expected="conditions of MERGE without subqueries, as in Spark",
                found="a subquery",
                action="Join it to the source: USING (SELECT …).",
            )

    def _compute_source(self, plans: Plans, parts: MergeParts, txn: NodeTransaction) -> Source:
        """Compute the source once: it may be another one the next time."""
        plan, alias, qualifier = parts.source, "", []
        if kind_of(plan) == "SubqueryAlias":
            alias = str(plan.alias())
        elif kind_of(plan) == "UnresolvedRelation":
            *qualifier, alias = map(str, each(plan.multipartIdentifier()))
        frame = plans.frame(plans.selected(plan, ["*"]))
        self.read_sources(txn, frame)
        self.show("lakemerge_source_rows", frame)
        self.queries.materialize(
            _SOURCE,
            f"select *, monotonically_increasing_id() as {_NUMBER} from lakemerge_source_rows",
            {"row_count": "count(*)"},
        )
        rows = plans.aliased(plans.table(self.pass_on(_SOURCE)), alias or _SOURCE, qualifier)
        return Source(rows, frame.columns, alias or _SOURCE)

    def _match(
        self, txn: NodeTransaction, plans: Plans, parts: MergeParts, source: Source, where: str
    ) -> list[Changes]:
        """Show the rows that the statement leaves alone (:data:`KEPT`), and compute those that it changes."""
        matched = self._branch(plans, txn, parts.matched, source)
        unmatched = self._branch(plans, txn, parts.unmatched, source)
        for assigned in (*matched.assigned, *unmatched.assigned):
            self.require_assignable(txn, assigned)
        target, on = self.rows_of(plans, txn, where), parts.condition
        numbered = plans.selected(
            plans.filtered(plans.table(txn.table), where),
            ["*", plans.named("monotonically_increasing_id()", _ROW)],
        )
        left = self.rows_of(plans, txn, rows=numbered)
        own = [self._own(plans, column.name) for column in txn.plan.columns if column.in_table]
        pairs = plans.selected(
            plans.joined(left, source.plan, "inner", on), [*own, _ROW, _NUMBER, *matched.columns(plans)]
        )
        kept = self.rows_of(plans, txn)  # rows may move into partitions in which none matches
        if parts.matched:
            acts = plans.either(matched.conditions(plans))
            kept = plans.joined(kept, source.plan, "leftanti", plans.both(on, acts))
        if not parts.unmatched:
            rest, shown = plans.frames(kept, pairs)
        else:
            alone = plans.joined(kept, source.plan, "leftanti", on)
            acts = plans.either(unmatched.conditions(plans))
            rest, others, shown, lonely = plans.frames(
                plans.joined(kept, source.plan, "leftsemi", on),
                plans.filtered(alone, plans.fails(acts)),
                pairs,
                plans.selected(
                    plans.joined(target, source.plan, "leftanti", on), ["*", *unmatched.columns(plans)]
                ),
            )
            rest = rest.unionAll(others)
            self.show(_UNMATCHED, lonely)
        self.show(KEPT, rest)
        self._compute_pairs(parts, shown)
        found = matched.changes(self, txn, _PAIRS, shown.schema)
        if parts.inserting:
            found += self._inserts(txn, plans, parts, source)
        if parts.unmatched:
            found += unmatched.changes(self, txn, _UNMATCHED, lonely.schema)
        return found

    def _compute_pairs(self, parts: MergeParts, shown: DataFrame) -> None:
        """Compute the matches once.

        Raises:
            CardinalityViolation: several rows of the source change a stored one.
        """
        self.show("lakemerge_pairs_now", shown)
        only_deletes = len(parts.matched) == 1 and parts.matched[0] == Clause("delete")
        acting = f"{_CLAUSE} > 0"
        sql = "select * from lakemerge_pairs_now"
        if only_deletes:
            # several rows of the source may say so
            columns = ", ".join(map(quote, shown.columns))
            sql = (
                f"select {columns} from (select *, row_number() over (partition by {_ROW} order by {_NUMBER}) "
                f"as number from lakemerge_pairs_now) where number = 1 or not {acting}"
            )
        self.queries.materialize(_PAIRS, sql, {"row_count": "count(*)"})
        several = f"select 1 from {_PAIRS} where {acting} group by {_ROW} having count(*) > 1 limit 1"
        if not only_deletes and self.queries.rows(several):
            raise CardinalityViolation(
                expected=f"at most one row of the source for each row of {self.target.name} that the MERGE changes",
                found="several for one",
                action="Nothing was published. Let the source have one row for each key, or make ON more exact.",
            )

    def _inserts(
        self, txn: NodeTransaction, plans: Plans, parts: MergeParts, source: Source
    ) -> list[Changes]:
        """The rows of the source that match no stored one."""
        branch = self._branch(plans, txn, parts.inserting, source)
        pairs = plans.aliased(plans.table(self.pass_on(_PAIRS)), _PAIRS)
        alone = plans.joined(
            source.plan, pairs, "leftanti", f"{quote(source.alias)}.{_NUMBER} = {_PAIRS}.{_NUMBER}"
        )
        frame = plans.frame(plans.selected(alone, branch.columns(plans)))
        require_deterministic(frame, "MERGE INTO")
        self.show(_INSERTING, frame)
        return branch.changes(self, txn, _INSERTING, frame.schema)

    def _own(self, plans: Plans, column: str) -> Any:
        """A column of the table, which the source may also have."""
        prefix = self.statement.alias or self.target.name.name
        return plans.named(f"{quote(prefix)}.{quote(column)}", column)

    def _branch(
        self, plans: Plans, txn: NodeTransaction, clauses: Sequence[Clause], source: Source
    ) -> Branch:
        columns = [column.name for column in txn.plan.columns if column.name != txn.commit_column]
        given = {name.lower() for name in source.columns}
        # of a merge that may add columns, * means those that the source has
        taken = [name for name in columns if name in given] if self._evolves else columns
        assigned: list[Sequence[Assigned]] = []
        for number, clause in enumerate(clauses):
            prefix = f"__lakemerge_value_{number}_"
            if clause.takes_all:
                assigned.append(all_columns(source.columns, taken, plans, source.alias, prefix))
            else:
                assigned.append(assignments_of(clause.assignments, self.qualifiers, columns, prefix))
        return Branch(clauses, assigned)
