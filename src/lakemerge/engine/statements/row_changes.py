"""What the drivers of statements have in common: which rows change, and how they get into the table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lakemerge.engine.history.history_options import Scd2MergeConfig
from lakemerge.engine.history.scd2_plan import Scd2Plan
from lakemerge.engine.macros import Macros
from lakemerge.engine.merge.ledger import LEDGER, open_ledger, write_ledger
from lakemerge.engine.merge.merge_options import MergeConfig
from lakemerge.engine.merge.merge_plan import MergePlan
from lakemerge.engine.merge_on_read.write_modes import WriteModes
from lakemerge.engine.publish.driver import Counts, Driver
from lakemerge.engine.publish.feeds import pass_on, share
from lakemerge.engine.publish.node_transaction import NodeTransaction
from lakemerge.engine.publish.publisher import Publisher
from lakemerge.engine.relations.table_schema import plan_same
from lakemerge.engine.spark.read_tables import tables_read
from lakemerge.engine.statements.assignments import Assigned
from lakemerge.engine.statements.histories import history_plan, require_values, settle
from lakemerge.engine.statements.keys import merge_plan
from lakemerge.engine.statements.parsing import Statement
from lakemerge.engine.statements.plans import Plans, require_deterministic
from lakemerge.engine.statements.target import Target
from lakemerge.errors import DuplicateKey, NullKey, UnsupportedStatement
from lakemerge.kernel import DEFAULT_PARTITION, DELTAS, FOLDED, partition_name, retire_unread

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from lakemerge.engine.spark.handle import SessionHandle

#: The rows of the table that a statement leaves as they are.
KEPT = "lakemerge_kept"
#: What it changes; see ``lakemerge_statement_changes_sql``.
CHANGED = "lakemerge_changed"
#: The rows that it changes as the statement's expressions see them.
RAW = "lakemerge_raw"


@dataclass(frozen=True)
class Changes:
    """What a statement does to the rows of a view.

    Attributes:
        view: the view.
        action: ``update``, ``delete`` or ``insert``.
        values: SQL of columns of the table as the statement leaves them, by their names; other ones stay as they are
            stored.
        is_stored: whether the view has stored rows, in the table's columns.
        where: SQL that chooses some of the view's rows; empty for all.
    """

    view: str
    action: str
    values: Mapping[str, str] = field(default_factory=dict)
    is_stored: bool = True
    where: str = ""


class RowChanges(Driver[Any]):
    """Changes rows of a table by one commit.

    A table is rewritten by partitions: the rows that the statement leaves alone, and the changed ones. Where readers
    merge the table, the changes of rows are written beside the base instead.
    """

    def __init__(
        self,
        publisher: Publisher[Any],
        macros: Macros,
        handle: SessionHandle,
        session: SparkSession,
        statement: Statement,
        target: Target,
    ) -> None:
        """
        Args:
            handle: of the session in which the work is done.
            session: the one that the statement was given in, whose views and settings it means.
        """
        super().__init__(publisher, macros)
        self.handle = handle
        self.session = session
        self.statement = statement
        self.target = target

    def begin(self) -> NodeTransaction:
        return self.publisher.begin_alteration(self.operation, plan_same, changes_rows=True)

    # -- the table in the statement's queries ----------------------------------------------------

    def plans(self) -> Plans:
        return Plans(self.session, self.statement.with_clause)

    def rows_of(self, plans: Plans, txn: NodeTransaction, where: str = "true", rows: Any = None) -> Any:
        """A plan of the table's rows, by the names that the statement gives it.

        Args:
            where: SQL over the partition columns.
            rows: a plan of other rows, in the place of the table's.
        """
        plan = rows if rows is not None else plans.filtered(plans.table(txn.table), where)
        name = self.target.name
        if self.statement.alias:
            return plans.aliased(plan, self.statement.alias)
        return plans.aliased(plan, name.name, ["spark_catalog", name.schema])

    def alias(self, plans: Plans, txn: NodeTransaction) -> Any:
        return lambda rows: self.rows_of(plans, txn, rows=rows)

    @property
    def qualifiers(self) -> list[list[str]]:
        """What may stand before the name of a column."""
        name = self.target.name
        if self.statement.alias:
            return [[self.statement.alias]]
        return [[name.name], [name.schema, name.name], ["spark_catalog", name.schema, name.name]]

    def read(self, txn: NodeTransaction, names: Iterable[str], *, looks: bool = True) -> None:
        """Say which partitions the statement depends on; on all where rows of deltas may lie in others.

        Args:
            looks: whether it has looked for these among all. There may be more, which another program has added, or to
                which another commit copies rows of these.
        """
        txn.read(None if txn.overlay else names, missing=looks)

    def read_targets(self, txn: NodeTransaction, names: Iterable[str], found: Mapping[str, Any]) -> None:
        """Say that the statement depends on the partitions that rows get into, besides those that it has read."""
        if more := set(txn.partitions.names_of(found["new_partitions"])).difference(names):
            self.read(txn, more)

    def read_sources(self, txn: NodeTransaction, rows: DataFrame, *, own: int = 0) -> None:
        """Say that a query's rows depend on all of the table, where it reads the table in a subquery or as a source.

        Args:
            own: how often the query names the table for the rows that are to be changed.
        """
        if tables_read(rows).count(self.target.name) > own:
            txn.read()

    def within(self, txn: NodeTransaction, names: Iterable[str]) -> str:
        """SQL that is true in these partitions of the table; in all where rows of deltas may lie in others."""
        return "true" if txn.overlay else txn.partitions.filter(names)

    def split(
        self,
        plans: Plans,
        txn: NodeTransaction,
        names: Sequence[str],
        condition: Any,
        items: Sequence[Any],
        *,
        keeps: bool = False,
    ) -> StructType:
        """Show the rows for which a condition holds (:data:`RAW`), and all others of the table (:data:`KEPT`).

        Args:
            names: the partitions that the condition can hold in. The others have rows to keep, too: some may be touched
                because rows move there.
            condition: ``None`` for one that holds for all.
            items: the columns of the former.
            keeps: whether all columns of the former are read, and not only counted.

        Returns:
            The schema of the former.

        Raises:
            UnsupportedStatement: the condition, or a column, is not the same each time that it is computed.
        """
        narrows = keeps and condition is not None and not plans.has_subquery(condition)
        condition = plans.expression("true") if condition is None else condition
        met = plans.filtered(self.rows_of(plans, txn, self.within(txn, names)), plans.unpushed(condition))
        others = plans.filtered(self.rows_of(plans, txn), plans.fails(condition))
        kept, raw = plans.frames(others, plans.selected(met, items))
        require_deterministic(raw, self.statement.kind.upper())
        # the rows themselves, and their alias
        self.read_sources(txn, raw, own=1 if self.statement.alias else 2)
        self.show(KEPT, kept)
        self.show(RAW, raw)
        if narrows and txn.partitions and not txn.overlay and len(names) > 1:
            self.show(RAW, raw.where(self._partitions_met(txn)))
        return raw.schema

    def _partitions_met(self, txn: NodeTransaction) -> str:
        """SQL that is true in the partitions of :data:`RAW`'s rows, of which the condition's columns alone are read."""
        columns = [column for column in txn.plan.columns if column.is_partition]
        text = self.macros.lakemerge_partition_sql(columns)
        rows = self.queries.rows(f"select distinct {text} as name from {RAW}")
        return txn.partitions.filter(txn.partitions.names_of(row["name"] for row in rows))

    def show(self, name: str, frame: DataFrame) -> None:
        """Let the queries of this work read a frame by a name."""
        share(self.handle, frame, name)

    def pass_on(self, view: str) -> str:
        """A name by which the statement's session reads a view of the working session."""
        return pass_on(self.handle, self.handle.spark.table(view))

    # -- changes ---------------------------------------------------------------------------------

    def resolve(self, txn: NodeTransaction, changes: Sequence[Changes], *, keeps: bool) -> dict[str, Any]:
        """Say what becomes of the changed rows, and count them; returns counts and partitions.

        Args:
            keeps: whether their rows are computed once and kept, for they are read again.
        """
        plan, history = self._merge_plan(txn), self._history_plan(txn)
        sql = self.macros.lakemerge_statement_changes_sql(txn, plan, history, changes)
        metrics = self.macros.lakemerge_statement_counts(txn, plan)
        if keeps or plan is not None or history is not None:
            return self.queries.materialize(CHANGED, sql, metrics)
        selected = ", ".join(f"{aggregate} as {name}" for name, aggregate in metrics.items())
        return dict(self.queries.rows(f"select {selected} from ({sql})")[0].asDict())

    def stage(self, txn: NodeTransaction, found: Mapping[str, Any], *, checks: bool) -> Counts:
        """Write the changes that :meth:`resolve` has found, and commit.

        Args:
            checks: whether the kept and the changed rows come from queries of which one may see another state of other
                tables than the other, so that their numbers are compared.
        """
        counts = {name: int(found[name]) for name in ("inserted", "updated", "deleted") if found[name]}
        if not counts and not txn.changes_description and not self.has_more(txn):
            txn.skip()
            return {"inserted": 0, "updated": 0, "deleted": 0}
        plan, moves_keys = self._merge_plan(txn), bool(found.get("moved"))
        if plan is not None:
            self._check_keys(txn, plan, found, moves_keys)
            self.queries.define_view(
                "lakemerge_resolved", self.macros.lakemerge_statement_resolved_sql(plan, moves_keys)
            )
        if txn.overlay is not None:
            assert plan is not None
            self._stage_delta(txn, plan, found)
        else:
            self._stage_rows(txn, found, checks)
        if plan is not None and plan.sequence and (found["updated"] or found["deleted"]):
            self._remember(txn, plan)
        if (history := self._history_plan(txn)) is not None:
            assert isinstance(self.config, Scd2MergeConfig)
            settle(txn, history, self.config, self.macros, self.queries, forgets=self.forgets)
        txn.commit(counts, self._properties(txn, found))
        return counts

    #: Whether keys of a history are to be forgotten, even those of which the table has no version.
    forgets = False

    def has_more(self, txn: NodeTransaction) -> bool:
        """Whether something is to be committed although no row changes."""
        return False

    def _stage_rows(self, txn: NodeTransaction, found: Mapping[str, Any], checks: bool) -> None:
        """Write the new content of the touched partitions."""
        touched = txn.partitions.names_of([*found["old_partitions"], *found["new_partitions"]])
        if txn.adds_commits:  # the partitions of rows that are new get the number of this commit
            unnumbered = partition_name([txn.commit_column], [DEFAULT_PARTITION])
            touched = [name for name in touched if name.rpartition("/")[2] != unnumbered]
        if txn.rewrites_all:
            touched = [*touched, *txn.partitions.stored]
        gathers = txn.partitions.should_gather(touched, self.config.target_file_size)
        has_new = bool(found["inserted"] or found["updated"])
        sql = self.macros.lakemerge_statement_rows_sql(txn, txn.partitions.filter(touched), gathers, has_new)
        written = txn.stage(sql, touched, count=checks)
        if not checks:
            return
        where = txn.partitions.filter(touched, exact=True)
        before = int(
            self.queries.rows(f"select count(*) as row_count from {txn.table} where {where}")[0]["row_count"]
        )
        if written != before + found["inserted"] - found["deleted"]:
            raise txn.overtaken("that a table which the statement reads has changed meanwhile")

    def _stage_delta(self, txn: NodeTransaction, plan: MergePlan, found: Mapping[str, Any]) -> None:
        """Write the changed rows beside the base, if the view shows each of them by a key of its own."""
        transaction = txn.kernel_transaction
        transaction.let_rows_move()
        txn.side_data.read(DELTAS, None)
        transaction.read_side_data(FOLDED)
        shown = self.queries.rows(self.macros.lakemerge_rows_of_keys_sql(plan))[0]["row_count"]
        if shown != found["updated"] + found["deleted"] or txn.changes_schema:
            txn.abort()
            WriteModes(self.publisher, self.macros).remove_overlay()
            raise txn.restarted("that rows have no key of their own, so the deltas were moved into the base")
        txn.stage_delta(self.macros.lakemerge_delta_rows_sql(plan, txn.next_version))
        retire_unread(transaction)

    # -- keys and sequences ----------------------------------------------------------------------

    def _merge_plan(self, txn: NodeTransaction) -> MergePlan | None:
        """How a feed would meet the rows of the table; ``None`` where they have no key of their own."""
        if not isinstance(self.config, MergeConfig) or self.config.keeps_history:
            return None
        if self._planned is None or self._planned[0] is not txn:
            self._planned = txn, merge_plan(self.config, txn, self.target.hidden)
        return self._planned[1]

    _planned: tuple[NodeTransaction, MergePlan] | None = None

    def _history_plan(self, txn: NodeTransaction) -> Scd2Plan | None:
        """How a feed would meet the versions of the table; ``None`` where its rows are none."""
        if not isinstance(self.config, Scd2MergeConfig):
            return None
        if self._planned_history is None or self._planned_history[0] is not txn:
            # what became of a key follows from its versions in all partitions, and from the ledger
            txn.follow_same_rows()
            self._planned_history = txn, history_plan(self.config, txn, self.target.hidden)
        return self._planned_history[1]

    _planned_history: tuple[NodeTransaction, Scd2Plan] | None = None

    def require_assignable(self, txn: NodeTransaction, assigned: Iterable[Assigned]) -> None:
        """Check that a statement leaves alone what says whose row it is, in a history, and by which commit it came.

        Raises:
            UnsupportedStatement: it does not.
        """
        names = {one.column for one in assigned}
        if txn.commit_column in names:
            raise UnsupportedStatement(
                expected=f"an UPDATE of other columns than {txn.commit_column}, which says by which commit a row came",
                found="one of this column",
                action="Leave it out.",
            )
        if (history := self._history_plan(txn)) is not None:
            require_values(history, names)

    def _check_keys(
        self, txn: NodeTransaction, plan: MergePlan, found: Mapping[str, Any], moves_keys: bool
    ) -> None:
        """Refuse rows whose key is null, or is that of another row.

        Raises:
            NullKey, DuplicateKey: nothing was published.
        """
        # with predicates, a key may have several rows
        if plan.predicates or not (found["inserted"] or moves_keys):
            return
        txn.read()
        names = ", ".join(key.name for key in plan.keys)
        action = "Nothing was published. Correct the statement."
        if self.queries.rows(self.macros.lakemerge_null_keys_sql(plan, moves_keys)):
            raise NullKey(expected=f"rows with values in {names}", found="a null", action=action)
        if double := self.queries.rows(self.macros.lakemerge_double_keys_sql(txn, plan, moves_keys)):
            shown = "; ".join(", ".join(map(str, row)) for row in double)
            raise DuplicateKey(
                expected=f"each {names} once in {self.target.name} after the statement",
                found=f"more than one row for {shown}",
                action=action,
            )

    def _remember(self, txn: NodeTransaction, plan: MergePlan) -> None:
        """Note in the ledger up to which sequence the changes of a feed are settled for the rows that were changed."""
        txn.side_data.read(LEDGER, None)
        ledger = open_ledger(txn, plan.ledger_type, self.config.tombstone_retention, plan.key_types)
        sql = self.macros.lakemerge_corrections_sql(plan, ledger is not None)
        assert plan.ledger is not None
        write_ledger(txn, sql, plan.ledger, anew=False)

    def _properties(self, txn: NodeTransaction, found: Mapping[str, Any]) -> dict[str, Any]:
        properties = dict(txn.base.properties) if txn.base else {}
        before = txn.rows_before
        rows = None if before is None else before + found["inserted"] - found["deleted"]
        if self._planned_history is None and (found["inserted"] or found["updated"]):
            # a row may have got a higher sequence than any change had
            properties |= {"max_sequence": None, "sequence_by": None, "sequence_order": None}
        return {**properties, "rows": rows}
