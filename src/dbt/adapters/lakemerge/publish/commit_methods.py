"""The adapter's methods for materializations: transactions, and operations on versions."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from dbt.adapters.base import available
from dbt.adapters.contracts.connection import AdapterResponse
from dbt.adapters.events.logging import AdapterLogger
from dbt.adapters.lakemerge.options.write import WriteConfig
from dbt.adapters.lakemerge.publish.commit_times import version_at
from dbt.adapters.lakemerge.publish.feeds import FEED, FeedMethods
from dbt.adapters.lakemerge.publish.kernel_log import show_kernel_log
from dbt.adapters.lakemerge.publish.node_transaction import NodeTransaction
from dbt.adapters.lakemerge.publish.retries import attempts
from dbt.adapters.lakemerge.relation import LakemergeRelation
from dbt.adapters.lakemerge.relations.casts import require_castable
from dbt.adapters.lakemerge.relations.table_schema import SchemaPlan, plan_change, plan_new, plan_same
from dbt_common.exceptions import CompilationError, DbtRuntimeError

from lakemerge.errors import LakemergeError, SchemaChanged
from lakemerge.kernel import (
    COMPACTION,
    HiveColumn,
    Kernel,
    Settings,
    TableDefinition,
    TableName,
    Transaction,
    check_supported,
    drop,
    groups_to_merge,
    history,
    same_keys,
    vacuum,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

logger = AdapterLogger("Lakemerge")

# For the programs that write to the table without lakemerge; its own files are compressed so too.
_COMPRESSION = {"orc": {"orc.compress": "ZSTD"}, "parquet": {"parquet.compression": "ZSTD"}}

#: The feed with the columns that reach the table in the table's types.
TYPED_FEED = "lakemerge_typed_feed"


@dataclass
class CommitResponse(AdapterResponse):
    """What a commit did, in dbt's result line and in ``run_results.json``.

    Attributes:
        version: the version that the commit made; 0 if nothing had to be written.
        inserted, updated, deleted, ignored: rows of a merge by what became of their change; ``ignored`` are
            those that change nothing: late, repeated, or deletes of keys that are not there.
    """

    version: int = 0
    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    ignored: int = 0
    left: int = 0


class PublishingMethods(FeedMethods):
    """A mixin of the adapter; see the materializations for its use."""

    # -- configuration -------------------------------------------------------------------------

    @available.parse_none
    def write_config(self, model: Mapping[str, Any], strategy: str | None = None) -> WriteConfig:
        """The model's options about writing, checked. Raises CompilationError naming all that are wrong."""
        try:
            return WriteConfig.of(model["config"], strategy)
        except LakemergeError as error:
            raise CompilationError(str(error)) from error

    @available.parse(lambda *args, **kwargs: False)
    def names_no_key(self, model: Mapping[str, Any]) -> bool:
        """Whether a model that is to replace rows by their key has none, nor any option that needs one."""
        return WriteConfig.names_no_key(model["config"])

    @available.parse_none
    def clone_config(self, model: Mapping[str, Any], source: LakemergeRelation) -> WriteConfig:
        """The options about writing of a clone: files as the model wants them, partitions as its source has them."""
        names = ("file_format", "location_root", "tblproperties", "target_file_size", "max_attempts")
        config: WriteConfig = self.write_config(
            {"config": {name: model["config"].get(name) for name in names}}
        )
        with self._guarded():
            name = source.table_name
            table = self.handle.application.metastore.get_table(name)
        return dataclasses.replace(
            config, partition_by=tuple(column.name for column in table.partition_columns) if table else ()
        )

    # -- transactions --------------------------------------------------------------------------

    @available.parse_none
    def transactions(
        self,
        relation: LakemergeRelation,
        model: Mapping[str, Any],
        config: WriteConfig,
        operation: str,
        *,
        rebuild: bool = False,
    ) -> Iterator[NodeTransaction]:
        """Transactions to fill and commit, one after another until one is not overtaken by another commit.

        The body of the loop stages rows and ends each with ``commit`` or ``skip``.

        Args:
            rebuild: put a new table in the place of what is there, of any schema.

        Raises:
            DbtRuntimeError: a typed error of the kernel; nothing was published.
        """
        name = relation.table_name
        kernel = self._kernel(model, config)

        def begin() -> NodeTransaction:
            return self._begin(kernel, name, model, config, operation, rebuild)

        with self._guarded():
            for transaction in attempts(name, begin, config.max_attempts):
                yield transaction
        if transaction.version is not None:
            self.handle.spark.catalog.refreshTable(f"`{name.schema}`.`{name.name}`")

    @available.parse_none
    def compact_commits(
        self,
        relation: LakemergeRelation,
        model: Mapping[str, Any],
        config: WriteConfig,
        rows_sql: Callable[[NodeTransaction], str],
    ) -> None:
        """Merge small partitions of commits where there are enough of them.

        The model's own rows are published by then, so that a failure here is counted and does not fail it. Nor is the
        work redone after another commit: that was another compaction, or the next one will do.

        Args:
            rows_sql: gives the rows of the merged partitions in their new places.
        """
        name = relation.table_name
        kernel = self._kernel(model, config)
        try:
            with self._guarded():
                compaction = self._compaction(kernel, name, config)
                if compaction is not None:
                    compaction.compact(rows_sql(compaction))
        except DbtRuntimeError as error:
            logger.warning(
                f"{name}: its small partitions were not merged; the next append tries again: {error}"
            )
        self.handle.spark.catalog.refreshTable(f"`{name.schema}`.`{name.name}`")

    def _compaction(self, kernel: Kernel, name: TableName, config: WriteConfig) -> NodeTransaction | None:
        state, manifest = kernel.settled(name)
        after, below = config.compact_after, config.compact_below
        if not state.commit_column or not groups_to_merge(
            manifest, state.commit_column, after=after, below=below
        ):
            return None
        transaction = kernel.begin(name, COMPACTION, data_change=False)
        self.handle.on_release(transaction.abort)
        base = transaction.base
        assert base is not None
        return NodeTransaction(
            self.handle.spark,
            transaction,
            config,
            plan_same(base.columns, base.partition_columns),
            table=f"`{name.schema}`.`{name.name}`",
            rebuilds=False,
            constraints={},
            guard=self.connections.exception_handler,
            groups=groups_to_merge(base, state.commit_column, after=after, below=below),
        )

    def _guarded(self) -> Any:
        return self.connections.exception_handler("commit")

    def _kernel(self, model: Mapping[str, Any], config: WriteConfig | None) -> Kernel:
        show_kernel_log()
        writer = {
            "agent": "dbt-lakemerge",
            "node": str(model.get("unique_id", "")),
            "invocation_id": self._invocation_id(),
        }
        settings = Settings(writer=writer)
        if config:
            policy: Any = config.on_foreign_write
            settings = dataclasses.replace(settings, on_foreign_write=policy)
        return Kernel(self.handle.application.ports, settings)

    @staticmethod
    def _invocation_id() -> str:
        from dbt_common.invocation import get_invocation_id

        return str(get_invocation_id())

    def _begin(
        self,
        kernel: Kernel,
        name: TableName,
        model: Mapping[str, Any],
        config: WriteConfig,
        operation: str,
        rebuild: bool,
    ) -> NodeTransaction:
        feed = self.handle.spark.table(FEED)
        keep = config.keeps(feed.columns)
        transaction: Transaction | None = None
        with self._schema_errors():
            before = kernel.metastore.get_table(name)
            view = before is not None and before.kind == "VIRTUAL_VIEW" and rebuild
            if view or not kernel.exists(name):
                plan = self._plan_new(feed, config, keep, str(name))
                transaction = kernel.create(self._definition(name, config, plan), operation)
            else:
                if rebuild:
                    check_supported(kernel.table(name))
                transaction = kernel.begin(name, operation)
                base = transaction.base
                assert base is not None
                if rebuild:
                    plan = self._plan_new(feed, config, keep, str(name))
                else:
                    config.require_layout(name, transaction.commit_column)
                    plan = plan_change(
                        feed.schema,
                        base.columns,
                        base.partition_columns,
                        config.on_schema_change,
                        keep,
                        config.generated(feed, base, str(name), transaction.commit_column),
                    )
                    if operation != "insert_overwrite" or base.partition_columns:
                        require_castable(self.handle.spark, name, plan, base)
        self.handle.on_release(transaction.abort)
        self._describe(transaction, config, plan, rebuild)
        self._type_feed(feed, plan, keep)
        return NodeTransaction(
            self.handle.spark,
            transaction,
            config,
            plan,
            table=f"`{name.schema}`.`{name.name}`",
            rebuilds=rebuild,
            constraints=self.enforced_checks(model),
            guard=self.connections.exception_handler,
            before_commit=(lambda: kernel.metastore.drop_table(name)) if view else None,
            processing=self.handle.processing,
        )

    @staticmethod
    def _plan_new(feed: DataFrame, config: WriteConfig, keep: list[str], table: str) -> SchemaPlan:
        generated = config.generated(feed, None, table, config.new_commit_column)
        return plan_new(feed.schema, config.partition_columns, keep, generated)

    def _schema_errors(self) -> Any:
        return _AsCompilationError()

    def _definition(self, name: TableName, config: WriteConfig, plan: SchemaPlan) -> TableDefinition:
        root = f"{config.location_root.rstrip('/')}/{name.name}" if config.location_root else None
        return TableDefinition(
            name=name,
            columns=plan.data,
            partition_columns=plan.partitions,
            file_format=config.file_format,
            root=root,
            external=root is not None,
            owner=str(self.handle.spark.sparkContext.sparkUser()),
            commit_column=config.new_commit_column,
            parameters={**_COMPRESSION[config.file_format], **config.tblproperties},
        )

    def _describe(
        self,
        transaction: Transaction,
        config: WriteConfig,
        plan: SchemaPlan,
        rebuild: bool,
    ) -> None:
        """Give the transaction the table's columns and properties, as far as they change."""
        base = transaction.base
        if base is None:
            return
        table = self.handle.application.metastore.get_table(transaction.name)
        # comments are set by persist_docs; a change of the schema must not lose them
        comments = {c.name: c.comment for c in (*table.columns, *table.partition_columns)} if table else {}
        columns = [HiveColumn(c.name, c.type, comments.get(c.name, "")) for c in plan.data]
        if rebuild:
            keys = [HiveColumn(c.name, c.type, comments.get(c.name, "")) for c in plan.partitions]
            transaction.set_schema(columns, keys, config.file_format, config.new_commit_column)
        elif not same_keys(columns, base.columns):
            transaction.set_schema(columns)
        known = table.parameters if table else {}
        changed = {key: value for key, value in config.tblproperties.items() if known.get(key) != value}
        if changed:
            transaction.set_parameters(changed)

    def _type_feed(self, feed: DataFrame, plan: SchemaPlan, keep: list[str]) -> None:
        reach = {column.name for column in plan.columns}
        # the table may have a column that the model keeps from it, and sequence_by reads
        others = [f"`{name}`" for name in feed.columns if name.lower() not in reach or name not in keep]
        typed = [f"{column.from_feed} as {column.quoted}" for column in plan.columns if column.in_feed]
        feed.selectExpr(*typed, *others).createOrReplaceTempView(TYPED_FEED)

    def enforced_checks(self, model: Mapping[str, Any]) -> dict[str, str]:
        """SQL that finds the rows which break the contract's constraints, by the constraint's name."""
        if not (model["config"].get("contract") or {}).get("enforced"):
            return {}
        checks = {}
        for column in (model.get("columns") or {}).values():
            for constraint in column.get("constraints") or ():
                if constraint["type"] == "not_null":
                    checks[f"not_null_{column['name']}"] = f"`{column['name']}` is null"
                elif constraint["type"] == "check":
                    label = constraint.get("name") or f"check_{column['name']}_{len(checks) + 1}"
                    checks[label] = f"not ({constraint['expression']})"
        for number, constraint in enumerate(model.get("constraints") or (), 1):
            if constraint["type"] == "check":
                label = constraint.get("name") or f"check_model_{number}"
                checks[label] = f"not ({constraint['expression']})"
            elif constraint["type"] == "not_null":
                for name in constraint.get("columns") or ():
                    checks[f"not_null_{name}"] = f"`{name}` is null"
        return checks

    @available.parse_none
    def commit_response(
        self, operation: str, transaction: NodeTransaction, counts: Mapping[str, int] | None = None
    ) -> CommitResponse:
        """The response for dbt's result line."""
        counted = {key: int(value) for key, value in (counts or {}).items()}
        version = transaction.version
        known = ("inserted", "updated", "deleted", "ignored")
        parts = [f"{counted[key]} {key}" for key in known if key in counted] or [
            f"{count} {key}" for key, count in counted.items()
        ]
        where = "nothing to write" if version is None else f"version {version}"
        return CommitResponse(
            _message=f"{operation.upper()} ({', '.join([*parts, where])})",
            code=operation.upper(),
            rows_affected=sum(counted.get(key, 0) for key in ("inserted", "updated", "deleted", "rows")),
            version=version or 0,
            inserted=counted.get("inserted", 0),
            updated=counted.get("updated", 0),
            deleted=counted.get("deleted", 0),
            ignored=counted.get("ignored", 0),
        )

    # -- operations ----------------------------------------------------------------------------

    @available.parse_none
    def drop_table(self, relation: LakemergeRelation) -> None:
        """Drop a table with all its versions; nothing where there is none."""
        with self._guarded():
            drop(self._kernel({}, None), relation.table_name)

    @available.parse_list
    def table_history(self, relation: LakemergeRelation, limit: int | None = None) -> list[dict[str, Any]]:
        """The table's commits, the newest first."""
        name = relation.table_name
        with self._guarded():
            commits = history(self._kernel({}, None), name, limit)
        return [
            {
                "version": commit.version,
                "operation": commit.operation,
                "committed_at": commit.committed_at,
                "node": commit.writer.get("node", ""),
                "partitions": len(commit.touched),
                "files": commit.total_files,
                "bytes": commit.total_bytes,
                "metrics": dict(commit.metrics),
                "txn": commit.txn,
            }
            for commit in commits
        ]

    @available.parse(lambda *args, **kwargs: 0)
    def version_at(self, relation: LakemergeRelation, at: str) -> int:
        """The version that the table had at a time (ISO 8601; UTC unless it says otherwise); 0 before the first.

        Raises:
            DbtRuntimeError: the text is no time, or the commits of that time are vacuumed.
        """
        with self._guarded():
            commits = history(self._kernel({}, None), relation.table_name, None)
            return version_at(commits, at)

    @available.parse_list
    def recover_table(self, relation: LakemergeRelation) -> list[str]:
        """Finish what a dead writer left; returns what was done, a line each."""
        with self._guarded():
            return self._kernel({}, None).recover(relation.table_name)

    @available.parse_list
    def vacuum_table(
        self, relation: LakemergeRelation, retention_hours: float = 168, dry_run: bool = True
    ) -> list[dict[str, Any]]:
        """Free (or only list) the files that no version of the retention time needs."""
        name = relation.table_name
        with self._guarded():
            garbage = vacuum(
                self._kernel({}, None), name, retention=timedelta(hours=retention_hours), dry_run=dry_run
            )
        return [dataclasses.asdict(item) for item in garbage]


class _AsCompilationError:
    """Turns a schema that differs under ``on_schema_change: fail`` into what dbt raises for it."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, SchemaChanged):
            raise CompilationError(str(error)) from error
        if isinstance(error, LakemergeError):
            raise DbtRuntimeError(f"{type(error).__name__}: {error}") from error
