"""INSERT INTO, INSERT OVERWRITE and INSERT INTO … REPLACE WHERE."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lakemerge.engine.publish.driver import Counts
from lakemerge.engine.publish.node_transaction import NodeTransaction
from lakemerge.engine.spark.scala import elements, kind_of, mapping, optional, sequence
from lakemerge.engine.statements.conditions import equal_to, reach_of
from lakemerge.engine.statements.parsing import Statement
from lakemerge.engine.statements.plans import Plans
from lakemerge.engine.statements.row_changes import KEPT, RAW, Changes, RowChanges
from lakemerge.errors import ConstraintViolated, UnsupportedStatement

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_NEW = "lakemerge_inserting"
_MODE = "spark.sql.sources.partitionOverwriteMode"


class Insert(RowChanges):
    """Adds rows, in the place of others where the statement says so.

    Spark itself says what the rows are in the table's columns: names, defaults, types and lengths are as in its own
    INSERT.
    """

    operation = "insert"

    def attempt(self, txn: NodeTransaction) -> Counts:
        plans, plan = self.plans(), self.statement.plan
        rows = self._rows(plans, txn)
        self.read_sources(txn, rows)
        self.show("lakemerge_inserting_rows", rows.toDF(*(column.name for column in txn.plan.columns)))
        partitions = self.macros.lakemerge_placed_counts(txn)
        placed = self.queries.materialize(_NEW, "select * from lakemerge_inserting_rows", partitions)
        touched = [] if txn.adds_commits else txn.partitions.names_of(placed["partitions"])
        values = {
            column.name: "null" if column.name == txn.commit_column else column.quoted
            for column in txn.plan.columns
        }
        changes = [Changes(_NEW, "insert", values, is_stored=False)]
        replaced = self._replaced(plans, txn, touched)
        if replaced is None:
            self.read(txn, touched, looks=False)
            self.show(KEPT, plans.frame(self.rows_of(plans, txn)))
        else:
            if bool(plan.ifPartitionNotExists()) and set(touched) & set(txn.partitions.stored):
                txn.skip()
                return {"inserted": 0}
            reach = reach_of(plans, replaced, self.alias(plans, txn), txn.partitions)
            self.read(txn, {*reach.names, *touched})
            self.split(plans, txn, reach.names, replaced, ["*"])
            changes.append(Changes(RAW, "delete"))
        found = self.resolve(txn, changes, keeps=True)
        return self.stage(txn, found, checks=False)

    def _rows(self, plans: Plans, txn: NodeTransaction) -> DataFrame:
        """The new rows in all columns of the table.

        Raises:
            PySparkException: Spark cannot store the statement's rows in the table.
        """
        plan, jvm = self.statement.plan, self.session._jvm
        assert jvm is not None
        parts = elements(plan)
        parts["table"] = plans.table(txn.base_table)
        for criteria in parts.keys() & {"replaceCriteriaOpt", "replaceWhereOpt"}:
            parts[criteria] = jvm.scala.Option.empty()
        # which rows it replaces does not matter here; Spark does not let an INSERT OVERWRITE read its own table
        parts.update(overwrite=False, ifPartitionNotExists=False)
        if txn.commit_column and not plan.userSpecifiedCols().size() and not bool(plan.byName()):
            parts["userSpecifiedCols"] = sequence(self.session, self._given(txn))
        logical = jvm.org.apache.spark.sql.catalyst.plans.logical
        changed = logical.InsertIntoStatement(*parts.values())
        if self.statement.with_clause is not None:
            changed = self.statement.with_clause.withNewChildren(sequence(self.session, [changed]))
        modes = jvm.org.apache.spark.sql.execution.CommandExecutionMode
        state = self.session._jsparkSession.sessionState()
        command = state.executePlan(changed, modes.SKIP()).analyzed()
        return plans.frame(command.query())

    def _given(self, txn: NodeTransaction) -> list[str]:
        """The columns that rows without names are for: all but the commit's, and those that PARTITION gives."""
        others = {txn.commit_column, *self._fixed}
        return [column.name for column in txn.plan.columns if column.name not in others]

    @property
    def _fixed(self) -> dict[str, str]:
        """The values that PARTITION gives, by column; not those that the rows have."""
        found = mapping(self.statement.plan.partitionSpec())
        return {name.lower(): str(value.get()) for name, value in found.items() if value.isDefined()}

    def _replaced(self, plans: Plans, txn: NodeTransaction, touched: list[str]) -> Any:
        """A condition for the stored rows that the new ones replace; ``None`` where they are added.

        Raises:
            UnsupportedStatement: it is none over single rows.
            ConstraintViolated: new rows do not satisfy REPLACE WHERE.
        """
        plan = self.statement.plan
        criteria = _criteria(self.statement)
        if criteria is not None:
            self._require_within(plans, txn, criteria)
            return criteria
        if not bool(plan.overwrite()):
            return None
        if txn.partitions and str(self.session.conf.get(_MODE, "static")).lower() == "dynamic":
            if txn.adds_commits:
                raise UnsupportedStatement(
                    expected=f"an INSERT OVERWRITE of {self.target.name} that says which rows it replaces",
                    found=f"{_MODE}: dynamic, and a table whose partitions are those of commits",
                    action="Use INSERT INTO … REPLACE WHERE.",
                )
            return plans.expression(txn.partitions.filter(touched, exact=True))
        return plans.expression(equal_to(self._fixed))

    def _require_within(self, plans: Plans, txn: NodeTransaction, condition: Any) -> None:
        new = self.rows_of(plans, txn, rows=plans.table(self.pass_on(_NEW)))
        outside = plans.frame(plans.filtered(new, plans.fails(condition))).limit(1).count()
        if outside:
            raise ConstraintViolated(
                expected="rows that satisfy the condition of REPLACE WHERE",
                found="some that do not",
                action="Nothing was published. Filter the query by the condition.",
            )


def _criteria(statement: Statement) -> Any:
    if statement.replaced is not None:
        return statement.replaced
    parts = elements(statement.plan)
    if "replaceWhereOpt" in parts:
        return optional(parts["replaceWhereOpt"])  # of Spark 4.0
    found = optional(parts["replaceCriteriaOpt"]) if "replaceCriteriaOpt" in parts else None
    if found is None or kind_of(found) == "InsertReplaceWhere":
        return found and found.productElement(0)
    raise UnsupportedStatement(
        expected="REPLACE WHERE with a condition",
        found="REPLACE USING or REPLACE ON",
        action="Use MERGE INTO, or DELETE and INSERT.",
    )
