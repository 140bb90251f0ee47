"""How a node's rows come into its table: by transactions on the newest version, redone if another commit overtakes."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from lakemerge.engine.failures import CAUTION
from lakemerge.engine.layout.compression import CODEC, declared_codec, default_codec, stored_codec
from lakemerge.engine.layout.data_files import DataFiles
from lakemerge.engine.options.write import WriteConfig
from lakemerge.engine.publish.feeds import FEED, TYPED_FEED
from lakemerge.engine.publish.node_transaction import NodeTransaction, Publish
from lakemerge.engine.publish.queries import Queries
from lakemerge.engine.publish.redo import lost_rows_as_conflict, redoing
from lakemerge.engine.publish.repeated_runs import added_by
from lakemerge.engine.relations.casts import require_castable
from lakemerge.engine.relations.sized_text import with_lengths
from lakemerge.engine.relations.table_schema import SchemaPlan, plan_change, plan_new, plan_same
from lakemerge.engine.sql_text import qualified, quote
from lakemerge.errors import CommitConflict, InvalidTransactionState, UnsupportedTable
from lakemerge.kernel import (
    HiveColumn,
    HiveTable,
    Kernel,
    Manifest,
    TableDefinition,
    TableName,
    Transaction,
    check_supported,
    find_row,
    is_overlay_view,
    same_keys,
    set_spelling,
    spelling_of,
    state_of,
    view_over_base,
)
from lakemerge.table_rules import RULES, TableRules

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from lakemerge.engine.spark.handle import SessionHandle

C = TypeVar("C", bound=WriteConfig)
T = TypeVar("T")

_LOG = logging.getLogger("lakemerge")
_WHEN_EXHAUSTED = "Run again when the other writers are done, or let fewer of them share partitions."


class Publisher(Generic[C]):
    """Begins the transactions of one node on its table, and redoes work that another commit has overtaken.

    Attributes:
        name: the table.
        config: what the model's config says about writing.
        queries: the node's session.
        constraints: SQL that finds the rows which break the contract's constraints, by the constraint's name.
        committed: the version that the last piece of work made; ``None`` where it made none.
        staged: what the last piece of work left for later; ``None`` where it left nothing.
        rules: the parameter that records by which rules programs may change the table, where the commits record it.
    """

    def __init__(
        self,
        handle: SessionHandle,
        kernel: Kernel,
        name: TableName,
        config: C,
        *,
        constraints: Mapping[str, str],
        declared: Mapping[str, str] | None = None,
        records_rules: bool = False,
        commit: Publish = Transaction.commit,
        retries: Sequence[str] = (),
    ) -> None:
        """
        Args:
            declared: types of texts with a length that the feed's query cannot have; see :func:`declared_texts`.
            records_rules: whether its commits record, for programs, the rules by which the table may be changed.
            commit: takes the transaction that brings the feed into the table; see :class:`NodeTransaction`.
            retries: the invocations that the running one repeats; see :func:`retried_runs`.
        """
        self.name = name
        self.config = config
        self.queries = Queries(handle)
        self._handle = handle
        self.kernel = kernel
        self.constraints = constraints
        self._declared = declared or {}
        self._records_rules = records_rules
        self._commit = commit
        self._retries = retries
        self._has_warned = False
        self.committed: Manifest | None = None
        self.staged: NodeTransaction | None = None
        self.rules: Mapping[str, str] = {}

    @property
    def spark(self) -> SparkSession:
        return self._handle.spark

    def publish(
        self,
        operation: str,
        begin: Callable[[], NodeTransaction],
        attempt: Callable[[NodeTransaction], T],
    ) -> tuple[NodeTransaction, T]:
        """Make attempts at a piece of work until one is not overtaken by another commit, and loses no executor's rows.

        Args:
            operation: for messages.
            begin: begins a transaction on the newest version.
            attempt: fills the transaction, and commits or skips it.

        Returns:
            The transaction that was committed or skipped, and what the attempt has returned.

        Raises:
            CommitsExhausted: each of ``max_attempts`` attempts was overtaken.
            LakemergeError, PySparkException: nothing was published.
        """
        redo = redoing(str(self.name), self.config.max_attempts, self._say_redo, advice=_WHEN_EXHAUSTED)
        txn, done = redo(lambda: self._attempt(begin, attempt))
        self.note(txn)
        return txn, done

    def note(self, txn: NodeTransaction) -> None:
        """Keep the version that a transaction has made, and let Spark forget the files of the version before."""
        self.committed = txn.made
        self.staged = txn if txn.is_staged else None
        if self.committed is not None:
            self.refresh()

    def refresh(self) -> None:
        """Let Spark forget what it knows of the table's files."""
        self.spark.catalog.refreshTable(qualified(self.name))

    def _attempt(
        self, begin: Callable[[], NodeTransaction], attempt: Callable[[NodeTransaction], T]
    ) -> tuple[NodeTransaction, T]:
        txn = begin()
        try:
            with lost_rows_as_conflict():
                done = attempt(txn)
        except CommitConflict:
            txn.abort()
            raise
        if not txn.is_over:
            raise InvalidTransactionState(
                expected="the work to end by a commit, or by skipping it",
                found="that it did neither",
                action="Report this with the model's name.",
            )
        return txn, done

    def _say_redo(self, conflict: CommitConflict) -> None:
        found = conflict.found.removeprefix("that ")
        _LOG.info(f"{self.name}: {found}, so the work is redone.")

    # -- transactions --------------------------------------------------------------------------

    def begin(self, operation: str, *, rebuild: bool = False) -> NodeTransaction:
        """A transaction that takes the feed (:data:`FEED`) into the table, making it where there is none.

        On an existing table, the transaction begins before the feed is computed. So what the feed reads of the table
        is no older than the transaction, and a later commit is noticed.

        Args:
            rebuild: put a new table in the place of what is there, whatever its schema.

        Raises:
            SchemaChanged: the feed's columns are not the table's, and ``on_schema_change`` is ``fail``.
        """
        before = self.kernel.metastore.get_table(self.name)
        table = None
        view = (
            before is not None and before.kind == "VIRTUAL_VIEW" and rebuild and not is_overlay_view(before)
        )
        if view or not self.kernel.exists(self.name):
            feed, keep = self._feed(None)
            plan = self._plan_new(feed, keep)
            self.rules = self._rules(feed, keep, plan)
            definition = self._definition(plan, self.rules)
            transaction = self.kernel.create(definition, operation, in_place_of_view=view)
            self._handle.on_release(transaction.abort)
        else:
            transaction = self._begin_on_table(operation, rebuild)
            feed, keep = self._feed(None if rebuild else transaction.base)
            table = find_row(self.kernel.metastore, self.name)
            plan = (
                self._plan_new(feed, keep)
                if rebuild
                else self._plan_next(transaction, table, feed, keep, operation)
            )
            self.rules = self._rules(feed, keep, plan)
        if transaction.overlay is not None and not self.config.merges_on_read:
            raise InvalidTransactionState(
                expected=f"{self.name} to be read as a table, as the model's write_mode says",
                found="that another run has just changed it to merge on read",
                action="Give both the same write_mode, and run again.",
            )
        files = self._files(transaction, table, rebuild)
        changes_rules = self._describe(transaction, table, plan, files, rebuild, self.rules)
        self._type_feed(feed, plan, keep)
        return self._node_transaction(
            transaction,
            plan,
            files,
            rebuilds=rebuild,
            constraints=self.constraints,
            changes_rules=changes_rules,
            processing=self._handle.processing,
            publish=self._commit,
        )

    def begin_alteration(
        self,
        operation: str,
        plan_columns: Callable[[Sequence[HiveColumn], Sequence[HiveColumn]], SchemaPlan],
        *,
        changes_rows: bool = False,
    ) -> NodeTransaction:
        """A transaction that changes a table without a feed.

        Args:
            plan_columns: gets the table's data columns and its partition columns; returns the columns that it is to
                have.
            changes_rows: whether its rows may break constraints.
        """
        transaction = self.kernel.begin(self.name, operation)
        self._handle.on_release(transaction.abort)
        base = transaction.base
        assert base is not None
        table = find_row(self.kernel.metastore, self.name)
        plan = plan_columns(_columns_of(base, table), base.partition_columns)
        require_castable(self.spark, self.name, plan, base)
        files = self._files(transaction, table)
        self._describe(transaction, table, plan, files)
        constraints = self.constraints if changes_rows else None
        return self._node_transaction(transaction, plan, files, constraints=constraints, publish=self._commit)

    def begin_move(self, operation: str) -> NodeTransaction:
        """A transaction that keeps all rows, and only changes where they lie or how they are read."""
        transaction = self.kernel.begin(self.name, operation, data_change=False)
        self._handle.on_release(transaction.abort)
        base = transaction.base
        assert base is not None
        plan = plan_same(base.columns, base.partition_columns)
        files = self._files(transaction, find_row(self.kernel.metastore, self.name))
        return self._node_transaction(transaction, plan, files)

    def added_before(self, txn: NodeTransaction) -> int | None:
        """The version by which a run that this one repeats has added the node's rows; ``None`` if none has.

        ``None`` also for a model that consumes: its consumer chooses what it reads, so its feed has only what is left.
        """
        if not self._retries or txn.base is None or self._handle.processing is not None:
            return None
        # a claim that the other run left in doubt may be finished meanwhile
        txn.follow_same_rows()
        made = added_by(self.kernel, self.name, self._retries)
        return made.version if made else None

    @property
    def exists(self) -> bool:
        """Whether there is such a table, or a view over its base."""
        return self.kernel.exists(self.name)

    @property
    def has_view(self) -> bool:
        """Whether readers see the table through a view of ours, even if somebody has dropped it."""
        row = find_row(self.kernel.metastore, self.name)
        return row is not None and row.name != self.name

    def clear_place(self, replaces: bool) -> None:
        """Make sure that no other program's view is in the place of the view over the base.

        Args:
            replaces: whether the rows are about to be replaced, and such a view with them.

        Raises:
            UnsupportedTable: such a view is there, and is not to be replaced.
        """
        kernel, name = self.kernel, self.name
        view = view_over_base(kernel.metastore, name)
        while view is not None and replaces:
            kernel.removals.remove(name, view)
            view = view_over_base(kernel.metastore, name)
        if view is not None:
            raise UnsupportedTable(
                expected=f"{name} to be the view that lakemerge has made over {name}__base, which has the rows",
                found=f"a view that another program has made in its place: {view.view_text[:200]}",
                action=f"Drop it (drop view {name}): the next run recreates lakemerge's view, and no row is lost. "
                "Or run with --full-refresh, which replaces it, and the rows of the base.",
            )

    @property
    def current(self) -> Manifest | None:
        """The newest version, if the table is one of ours."""
        return self.kernel.settled(self.name)[1] if self.kernel.exists(self.name) else None

    def _node_transaction(
        self,
        transaction: Transaction,
        plan: SchemaPlan,
        files: DataFiles,
        *,
        rebuilds: bool = False,
        constraints: Mapping[str, str] | None = None,
        **more: Any,
    ) -> NodeTransaction:
        return NodeTransaction(
            self.spark,
            transaction,
            self.config,
            plan,
            table=qualified(self.name),
            files=files,
            rebuilds=rebuilds,
            constraints=constraints or {},
            reads_all=self._handle.reads == "all",
            **more,
        )

    def _files(self, transaction: Transaction, table: HiveTable | None, rebuild: bool = False) -> DataFiles:
        """How files are written: an existing table keeps its format, and its codec unless the model names one."""
        config, base = self.config, transaction.base
        file_format = base.file_format if base and not rebuild else config.file_format
        codec = declared_codec(config.tblproperties, file_format) or (
            declared_codec(table.parameters, file_format) if table else ""
        )
        if not codec and base and base.file_format == file_format:
            codec = stored_codec(self.spark, self.kernel.files, transaction.layout, base)
        codec = codec or self._default_codec(file_format)
        return DataFiles(
            file_format, codec, config.target_file_size, config.reader_compatibility, config.tblproperties
        )

    def _default_codec(self, file_format: str) -> str:
        return default_codec(self.spark, file_format, self.config.reader_compatibility)

    def _feed(self, base: Manifest | None) -> tuple[DataFrame, list[str]]:
        """The feed, computed for the transaction that has begun, and the columns of it that the table gets.

        Args:
            base: the version that keeps its columns; ``None`` for a table that is made or replaced.
        """
        if self._handle.compute_feed is not None:
            self._handle.compute_feed()
        feed = self.spark.table(FEED)
        if self._declared:
            columns = (*base.columns, *base.partition_columns) if base else ()
            feed = with_lengths(feed, self._declared, {column.name: column.type for column in columns})
        return feed, self.config.keeps(feed.columns)

    def _begin_on_table(self, operation: str, rebuild: bool) -> Transaction:
        if rebuild:
            check_supported(self.kernel.table(self.name))
        transaction = self.kernel.begin(self.name, operation)
        self._handle.on_release(transaction.abort)
        return transaction

    def _plan_next(
        self,
        transaction: Transaction,
        table: HiveTable | None,
        feed: DataFrame,
        keep: list[str],
        operation: str,
    ) -> SchemaPlan:
        """The columns that an existing table will have."""
        config, base = self.config, transaction.base
        assert base is not None
        config.require_layout(self.name, transaction.commit_column)
        self._warn_of_kept(base, transaction.commit_column)
        generated = config.generated(feed, base, str(self.name), transaction.commit_column)
        plan = plan_change(
            feed.schema,
            _columns_of(base, table),
            base.partition_columns,
            config.on_schema_change,
            keep,
            generated,
        )
        if operation != "insert_overwrite" or base.partition_columns:
            require_castable(self.spark, self.name, plan, base)
        return plan

    def _warn_of_kept(self, base: Manifest, commit_column: str) -> None:
        """Warn once about what the table keeps although the model says otherwise."""
        kept = self.config.kept(base, commit_column)
        if kept and not self._has_warned:
            self._has_warned = True
            how = self.config.to_change_layout
            CAUTION.warning(f"{self.name} {'; it '.join(kept)}. It stays as it is: to change that, {how}.")

    def _plan_new(self, feed: DataFrame, keep: list[str]) -> SchemaPlan:
        config = self.config
        generated = config.generated(feed, None, str(self.name), config.new_commit_column)
        return plan_new(feed.schema, config.partition_columns, keep, generated)

    def _rules(self, feed: DataFrame, keep: Sequence[str], plan: SchemaPlan) -> dict[str, str]:
        """The parameter that records the table's rules; an empty text where programs are not to change the table."""
        config = self.config
        if not self._records_rules:
            return {}
        if not config.changed_by:
            return {RULES: ""}
        shown = {column.name for column in plan.columns} & {name.lower() for name in keep}
        hidden = {name.lower(): kind for name, kind in feed.dtypes if name.lower() not in shown}
        of_feed = hidden if config.changed_by == "merge" else {}
        rules = TableRules(config.changed_by, config.recorded, self.constraints, of_feed)
        return {RULES: rules.text}

    def _definition(self, plan: SchemaPlan, rules: Mapping[str, str]) -> TableDefinition:
        config, name = self.config, self.name
        root = f"{config.location_root.rstrip('/')}/{name.name}" if config.location_root else None
        return TableDefinition(
            name=name,
            columns=plan.data,
            partition_columns=plan.partitions,
            file_format=config.file_format,
            root=root,
            external=root is not None,
            owner=str(self.spark.sparkContext.sparkUser()),
            commit_column=config.new_commit_column,
            parameters={
                # for programs that write to the table without lakemerge
                CODEC[config.file_format]: self._default_codec(config.file_format).upper(),
                **config.tblproperties,
                **{key: text for key, text in rules.items() if text},
            },
            spelling=plan.spelling,
        )

    def _describe(
        self,
        transaction: Transaction,
        table: HiveTable | None,
        plan: SchemaPlan,
        files: DataFiles,
        rebuild: bool = False,
        rules: Mapping[str, str] | None = None,
    ) -> bool:
        """Give the transaction the table's columns and properties, as far as they change.

        Returns:
            Whether the rules of an existing table change.
        """
        base, config = transaction.base, self.config
        if base is None:
            return False
        # comments are set by persist_docs; a change of the schema must not lose them
        comments = {c.name: c.comment for c in (*table.columns, *table.partition_columns)} if table else {}

        def described(columns: Sequence[HiveColumn]) -> list[HiveColumn]:
            return [dataclasses.replace(column, comment=comments.get(column.name, "")) for column in columns]

        if rebuild:
            keys = described(plan.partitions)
            transaction.set_schema(described(plan.data), keys, config.file_format, config.new_commit_column)
            set_spelling(transaction, plan.spelling)
        elif not same_keys(plan.data, base.columns):
            shown = {**spelling_of(table), **plan.spelling} if table else plan.spelling
            transaction.set_schema(described(plan.data))
            set_spelling(transaction, shown)
        known = table.parameters if table else {}
        wanted = dict(config.tblproperties)
        if not known.get(CODEC[files.file_format]):
            wanted.setdefault(CODEC[files.file_format], files.codec.upper())
        changed = {key: value for key, value in wanted.items() if known.get(key) != value}
        others = {key: text for key, text in (rules or {}).items() if known.get(key, "") != text}
        if changed or others:
            transaction.set_parameters({**changed, **others})
        return bool(others)

    @staticmethod
    def _type_feed(feed: DataFrame, plan: SchemaPlan, keep: list[str]) -> None:
        reach = {column.name for column in plan.columns}
        # sequence_by may read a column of the feed that the model does not store, though the table has such a column
        others = [quote(name) for name in feed.columns if name.lower() not in reach or name not in keep]
        typed = [f"{column.from_feed} as {column.quoted}" for column in plan.columns if column.in_feed]
        feed.selectExpr(*typed, *others).createOrReplaceTempView(TYPED_FEED)


def _columns_of(base: Manifest, table: HiveTable | None) -> Sequence[HiveColumn]:
    """A table's data columns: those that the metastore names, if another program has changed them since its version.

    A statement such as ``ALTER TABLE ADD COLUMNS`` writes no file, so it is no version of its own.
    """
    if table is None or same_keys(table.columns, base.columns):
        return base.columns
    state = state_of(table)
    is_of_base = state is not None and state.txn == base.txn and state.claim is None
    return table.columns if is_of_base else base.columns
