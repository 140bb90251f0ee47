"""The adapter: what dbt calls, and what macros call as ``adapter.…``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timezone
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, cast

from dbt.adapters.base import BaseRelation, available
from dbt.adapters.base.impl import ConstraintSupport
from dbt.adapters.base.relation import InformationSchema
from dbt.adapters.capability import Capability, CapabilityDict, CapabilitySupport, Support
from dbt.adapters.catalogs import CatalogIntegration, CatalogIntegrationConfig
from dbt.adapters.contracts.connection import AdapterResponse
from dbt.adapters.contracts.relation import RelationType
from dbt.adapters.events.logging import AdapterLogger
from dbt.adapters.exceptions import RelationTypeNullError
from dbt.adapters.lakemerge.after_tests.hook import arrange_hook
from dbt.adapters.lakemerge.after_tests.methods import StagingMethods
from dbt.adapters.lakemerge.capability import capability
from dbt.adapters.lakemerge.catalog.catalog import catalog_entry, catalog_rows, catalog_table
from dbt.adapters.lakemerge.catalog.catalogs_by_schema import CatalogsBySchema
from dbt.adapters.lakemerge.catalog.columns import (
    as_dbt_columns,
    columns_by_spark,
    columns_for_catalog,
    columns_of,
)
from dbt.adapters.lakemerge.catalog.seeds import check_columns, inferred_type
from dbt.adapters.lakemerge.column import LakemergeColumn
from dbt.adapters.lakemerge.connections import LakemergeConnectionManager
from dbt.adapters.lakemerge.cursor import ConnectionHandle
from dbt.adapters.lakemerge.dbt_errors import as_dbt_error
from dbt.adapters.lakemerge.dbt_log import show_engine_log
from dbt.adapters.lakemerge.dbt_names import LakemergeConfig
from dbt.adapters.lakemerge.debug_checks import run_checks
from dbt.adapters.lakemerge.methods.alterations import AlterationMethods
from dbt.adapters.lakemerge.methods.compaction import CompactionMethods
from dbt.adapters.lakemerge.methods.consuming import ConsumingMethods
from dbt.adapters.lakemerge.methods.feeds import FeedMethods
from dbt.adapters.lakemerge.methods.ingest import IngestMethods
from dbt.adapters.lakemerge.methods.merging import MergeMethods
from dbt.adapters.lakemerge.methods.nodes import NodeMethods
from dbt.adapters.lakemerge.methods.operations import OperationMethods
from dbt.adapters.lakemerge.methods.snapshots import SnapshotMethods
from dbt.adapters.lakemerge.methods.versions import VersionMethods
from dbt.adapters.lakemerge.python_models import SessionPythonJob
from dbt.adapters.lakemerge.relation import LakemergeRelation
from dbt.adapters.lakemerge.retried_runs import retried_runs
from dbt.adapters.lakemerge.staged_names import reading_staged
from dbt.adapters.lakemerge.statements import split_statements
from dbt_common.contracts.constraints import ConstraintType
from dbt_common.contracts.metadata import CatalogTable
from dbt_common.exceptions import CompilationError, DbtConfigError
from dbt_common.invocation import get_invocation_id

from lakemerge import errors
from lakemerge.engine.options.formats import format_of
from lakemerge.engine.relations import comments
from lakemerge.engine.relations.conditions import all_of
from lakemerge.engine.spark.releases import is_spark_3
from lakemerge.engine.spark.session import rehearsal, reporting_java_death
from lakemerge.engine.sql_text import literal, quote
from lakemerge.engine.strategies import INCREMENTAL
from lakemerge.errors import JavaDied, LakemergeError, NotPublished, UnsupportedTable
from lakemerge.kernel import (
    PUBLISHED_OF,
    VERSION,
    HiveColumn,
    HiveTable,
    check_supported,
    find_row,
    is_overlay_view,
    model_name,
    view_over_base,
)

if TYPE_CHECKING:
    import agate
    from dbt.adapters.base.impl import FreshnessResponse
    from dbt.adapters.contracts.macros import MacroResolverProtocol

logger = AdapterLogger("Lakemerge")

# The name that dbt gives to its frame around hooks.
_MAIN = "master"


class LakemergeAdapter(CatalogsBySchema):
    """dbt on plain Hive tables: what dbt looks for, and the capabilities that macros call as ``adapter.<name>``.

    Methods that read the metastore raise ``DbtRuntimeError`` with the kernel's text when it fails.
    """

    Relation = LakemergeRelation
    Column = LakemergeColumn
    ConnectionManager = LakemergeConnectionManager
    AdapterSpecificConfigs = LakemergeConfig

    CONSTRAINT_SUPPORT = {  # noqa: RUF012 - dbt's own declaration of it is no ClassVar
        # checked on the staged rows, before readers see them
        ConstraintType.not_null: ConstraintSupport.ENFORCED,
        ConstraintType.check: ConstraintSupport.ENFORCED,
        ConstraintType.unique: ConstraintSupport.NOT_ENFORCED,
        ConstraintType.primary_key: ConstraintSupport.NOT_ENFORCED,
        ConstraintType.foreign_key: ConstraintSupport.NOT_ENFORCED,
    }

    _capabilities = CapabilityDict(
        {
            Capability.SchemaMetadataByRelations: CapabilitySupport(support=Support.Full),
            Capability.GetCatalogForSingleRelation: CapabilitySupport(support=Support.Full),
            Capability.TableLastModifiedMetadata: CapabilitySupport(support=Support.Full),
            # batches of one model commit to one table: they would only wait for each other
            Capability.MicrobatchConcurrency: CapabilitySupport(support=Support.Unsupported),
        }
    )

    nodes = capability(NodeMethods)
    feeds = capability(FeedMethods)
    merging = capability(MergeMethods)
    snapshots = capability(SnapshotMethods)
    ingest = capability(IngestMethods)
    consumers = capability(ConsumingMethods)
    staging = capability(StagingMethods)
    alterations = capability(AlterationMethods)
    compaction = capability(CompactionMethods)
    operations = capability(OperationMethods)
    versions = capability(VersionMethods)

    def __init__(self, config: Any, mp_context: Any) -> None:
        super().__init__(config, mp_context)
        show_engine_log()
        # dbt makes the adapter in the thread that knows the command
        try:
            self.retries = retried_runs(config, str(get_invocation_id()))
        except NotPublished as error:
            raise as_dbt_error(error) from error

    @property
    def handle(self) -> ConnectionHandle:
        """The calling thread's connection, opened if it is not yet."""
        handle: ConnectionHandle = self.connections.get_thread_connection().handle
        return handle

    @contextmanager
    def connection_named(self, *args: Any, **kwargs: Any) -> Iterator[None]:
        """dbt's frame around a node: errors caused by a dead Java say so, and names refer to what is staged.

        The error of a microbatch is logged, since dbt drops it: its results say only that a batch has failed.
        """
        if _MAIN in (*args, *kwargs.values()):
            arrange_hook(self.get_macro_resolver(), self.config.project_name)
        try:
            with reading_staged(), reporting_java_death(), super().connection_named(*args, **kwargs):
                yield
        except JavaDied as error:
            raise as_dbt_error(error) from error
        except Exception as error:
            batch = next(
                (one.batch for one in (*args, *kwargs.values()) if getattr(one, "batch", None)), None
            )
            if batch is not None:
                logger.error(f"Batch {batch.id}: {error}")
            raise

    # -- relations -----------------------------------------------------------------------------

    def list_relations_without_caching(self, schema_relation: BaseRelation) -> list[BaseRelation]:
        """All tables, views and functions of a schema, by two calls to the metastore.

        A function may have the name of a table. dbt keeps one relation per name, which is then the table.
        """
        schema = str(schema_relation.schema).lower()
        metastore = self.handle.application.metastore
        with self.connections.exception_handler(f"list the relations of {schema}"):
            found = dict.fromkeys(metastore.function_names(schema), RelationType.Function)
            rows = metastore.table_summaries(schema)
            found |= {row.name: self.Relation.type_of(row.kind) for row in rows}
            # to dbt a table that is merged on read is a table, though readers see it through a view
            views = [name for name, kind in found.items() if kind == RelationType.View]
            merged = metastore.tables(schema, views) if views else ()
            found |= {row.name.name: RelationType.Table for row in merged if is_overlay_view(row)}
        return [
            self.Relation.create(schema=schema, identifier=name, type=kind) for name, kind in found.items()
        ]

    @available.parse_none
    def get_relation(self, database: str, schema: str, identifier: str) -> BaseRelation | None:
        """The table or view of this name; ``None`` if only a function has it, since a model may use that name too.

        What dbt does not know of is looked up: hooks and macros of packages make tables by statements of their own.
        """
        known: BaseRelation | None = super().get_relation(database, schema, identifier)
        if not schema or (known is not None and known.type != RelationType.Function):
            return known
        named = self.Relation.create(schema=schema.lower(), identifier=identifier.lower())
        table = self._table(named)
        return None if table is None else named.incorporate(type=self.Relation.type_of_table(table))

    def _make_match_kwargs(self, database: str, schema: str, identifier: str) -> dict[str, str]:
        # the metastore keeps names in lower case whatever a project says about quoting
        named = super()._make_match_kwargs(database, schema, identifier).items()
        return {part: name.lower() for part, name in named}

    @classmethod
    def quote(cls, identifier: str) -> str:
        """The name as Spark reads any name; dbt calls this on the class, which dbt-spark's method does not allow."""
        return quote(str(identifier))

    @available.parse_none
    def drop_relation(self, relation: BaseRelation) -> None:
        """Drop the table, view or function of this name, if there is one.

        The type that dbt remembers may be outdated, and Spark refuses to drop a view as a table.
        """
        if relation.type is None:
            raise RelationTypeNullError(relation)
        relation = self._placed(relation)
        self.cache_dropped(relation)
        if not _own(relation).in_session_only and relation.type != RelationType.Function:
            table = self._table(relation)
            if table is None:
                return
            relation = relation.incorporate(type=self.Relation.type_of_table(table))
        self.execute_macro("drop_relation", kwargs={"relation": relation})

    @available.parse_none
    def drop_schema(self, relation: BaseRelation) -> None:
        """Drop a schema with everything in it, tables with all their versions."""
        for existing in self.list_relations_without_caching(relation):
            if existing.is_table:
                self.operations.drop(_own(existing))
        super().drop_schema(relation)

    @available.parse_none
    def truncate_relation(self, relation: BaseRelation) -> None:
        """Publish a version of a table without rows; the versions before it stay."""
        self.execute_macro("truncate_relation", kwargs={"relation": self._placed(relation)})

    @available.parse_none
    def check_droppable(self, relation: BaseRelation) -> None:
        """Check that dbt may drop a table that a view is about to replace.

        Raises:
            DbtRuntimeError: it is an Iceberg, Hive ACID or similar table, or its files belong to another program.
        """
        table = self._stored_table(relation)
        with self.connections.exception_handler(f"check {relation.render()}"):
            if table is not None:
                check_supported(table)
                if table.kind == "EXTERNAL_TABLE" and VERSION not in table.parameters:
                    raise UnsupportedTable(
                        expected=f"{table.name} to be a table that dbt may drop",
                        found=f"an external table at {table.location}, made by another program",
                        action="Give the model another name (alias), or drop that table first.",
                    )

    @available.parse_none
    def rename_relation(self, from_relation: BaseRelation, to_relation: BaseRelation) -> None:
        """Rename a view, or a table without versions.

        dbt's own method notes the new name before it calls the macro. After a refusal by the macro, later nodes would
        then find no table of the old name.
        """
        self.execute_macro(
            "rename_relation", kwargs={"from_relation": from_relation, "to_relation": to_relation}
        )
        # the new name was free, whatever dbt remembers of it
        self.cache_dropped(to_relation)
        self.cache_renamed(from_relation, to_relation)

    @available.parse_none
    def check_renamable(self, relation: BaseRelation) -> None:
        """Refuse to rename a table with versions, whose directory Hive would move, or one that belongs to such a table.

        Raises:
            DbtRuntimeError: it is one of these.
        """
        table = self._stored_table(relation)
        known = table.parameters if table else {}
        reason = f"has version {known[VERSION]}" if VERSION in known else "belongs to a table with versions"
        with self.connections.exception_handler(f"rename {relation.render()}"):
            if table is not None and (VERSION in known or PUBLISHED_OF in known):
                raise UnsupportedTable(
                    expected="a view, or a table without versions, to rename",
                    found=f"{model_name(table)}, which {reason}",
                    action="Build the model under its new name, and drop the old table.",
                )

    @available.parse(lambda *args, **kwargs: False)
    def hides_base(self, relation: LakemergeRelation) -> bool:
        """Whether another program's view has taken the place of the view of a table that is merged on read.

        A run does not replace such a view unasked, because the table's rows are still there, in the base.
        """
        with self.connections.exception_handler(f"look for the base of {relation.render()}"):
            return view_over_base(self.handle.application.metastore, relation.table_name) is not None

    @available.parse_list
    def get_columns_in_relation(self, relation: BaseRelation) -> list[LakemergeColumn]:
        """The columns, partition columns last; empty where there is no relation."""
        relation = self._placed(relation)
        if relation.in_session_only or relation.staged_view:
            spark, guard = self.handle.spark, self.connections.exception_handler
            return as_dbt_columns(relation, columns_by_spark(relation.render(), spark, guard))
        table = self._stored_table(relation)
        if table is None:
            return []
        found = columns_of(table, self.handle.spark, self.connections.exception_handler)
        return as_dbt_columns(relation, found)

    def _placed(self, relation: BaseRelation) -> LakemergeRelation:
        """The relation with its schema: the session's current database for a table without one."""
        own = _own(relation)
        if own.schema or own.in_session_only:
            return own
        current = str(self.handle.spark.catalog.currentDatabase())
        return cast(LakemergeRelation, own.incorporate(path={"schema": current}))

    def _table(self, relation: BaseRelation) -> HiveTable | None:
        name = self._placed(relation).table_name
        with self.connections.exception_handler(f"read {name}"):
            return self.handle.application.metastore.get_table(name)

    def _stored_table(self, relation: BaseRelation) -> HiveTable | None:
        """The row of a relation; for a table that is merged on read, its base's row, which has the declared types."""
        name = self._placed(relation).table_name
        with self.connections.exception_handler(f"read {name}"):
            return find_row(self.handle.application.metastore, name)

    # -- catalog -------------------------------------------------------------------------------

    def _get_one_catalog(
        self, information_schema: InformationSchema, schemas: set[str], used_schemas: Any
    ) -> agate.Table:
        """The catalog of whole schemas."""
        metastore = self.handle.application.metastore
        with self.connections.exception_handler(f"catalog of {', '.join(sorted(schemas))}"):
            names = {
                schema: [row.name for row in metastore.table_summaries(schema.lower())] for schema in schemas
            }
        return self._catalog(names)

    def _get_one_catalog_by_relations(
        self, information_schema: InformationSchema, relations: list[BaseRelation], used_schemas: Any
    ) -> agate.Table:
        """The catalog of these relations alone."""
        names: dict[str, list[str]] = {}
        for relation in relations:
            names.setdefault(str(relation.schema).lower(), []).append(str(relation.identifier).lower())
        return self._catalog(names)

    def get_catalog_for_single_relation(self, relation: BaseRelation) -> CatalogTable | None:
        """The catalog's entry for one table or view; ``None`` if there is none."""
        table = self._table(relation)
        return None if table is None else catalog_entry(table, self._columns_for_catalog)

    def calculate_freshness_from_metadata(
        self, source: BaseRelation, macro_resolver: MacroResolverProtocol | None = None
    ) -> tuple[AdapterResponse | None, FreshnessResponse]:
        """When a source's rows changed last.

        Sources are not looked up in one batch: listing their files takes the time, and dbt's threads do it in parallel.

        Raises:
            DbtRuntimeError: there is no such table, or it is a view.
        """
        changed = self.operations.last_change(_own(source))
        return None, self._create_freshness_response(changed, datetime.now(timezone.utc))

    def add_catalog_integration(self, catalog_integration: CatalogIntegrationConfig) -> CatalogIntegration:
        """Refuse a `catalogs.yml`: its models would be built elsewhere than it says."""
        found = f"{catalog_integration.name}, of type {catalog_integration.catalog_type}"
        raise DbtConfigError(
            "Expected no catalogs.yml, since lakemerge supports no type of catalog: its tables are plain tables in the "
            f"profile's Hive metastore; found {found}. Remove the file, or run these models with the adapter of "
            "that catalog."
        )

    def _columns_for_catalog(self, table: HiveTable) -> Iterable[HiveColumn]:
        return columns_for_catalog(table, self.handle.spark, self.connections.exception_handler)

    def _catalog(self, names: Mapping[str, list[str]]) -> agate.Table:
        metastore, columns = self.handle.application.metastore, self._columns_for_catalog
        with self.connections.exception_handler("catalog"):
            known = [metastore.tables(schema.lower(), some) for schema, some in names.items() if some]
            return catalog_table([row for table in chain(*known) for row in catalog_rows(table, columns)])

    # -- Python models, seeds, incremental models --------------------------------------------------

    @property
    def default_python_submission_method(self) -> str:
        """Python models run where all other models do."""
        return "session"

    @property
    def python_submission_helpers(self) -> dict[str, Any]:
        """The one way to run a Python model: in the node's session."""
        return {"session": partial(SessionPythonJob, handle_of_thread=lambda: self.handle)}

    def generate_python_submission_response(self, submission_result: Any) -> AdapterResponse:
        """dbt's result line for a Python model before its frame is published."""
        return AdapterResponse(_message="OK")

    @classmethod
    def convert_agate_type(cls, agate_table: agate.Table, col_idx: int) -> str | None:
        """The Spark type for a column of a seed."""
        return inferred_type(agate_table, col_idx)

    def valid_incremental_strategies(self) -> list[str]:
        """dbt's own strategies that work here; users' own are not checked against this."""
        return list(INCREMENTAL)

    # -- for macros ----------------------------------------------------------------------------

    @available.parse_none
    def raise_typed(self, kind: str, expected: str, found: str, action: str) -> None:
        """Raise one of ``lakemerge.errors`` by its name, as dbt shows errors."""
        error: type[LakemergeError] = getattr(errors, kind)
        raise as_dbt_error(error(expected=expected, found=found, action=action))

    @available
    def is_spark_3(self) -> bool:
        """Whether the installed Spark is 3.5, without ``listagg`` and without functions in SQL."""
        return is_spark_3()

    @available
    def split_statements(self, text: str | None) -> list[str]:
        """The SQL statements of a text, such as a ``sql_header``."""
        return [statement for statement in split_statements(text or "") if statement.strip()]

    @available
    def check_seed_columns(self, names: Iterable[str], quote_columns: bool | None) -> None:
        """Refuse a seed's columns that cannot be created as its config says."""
        check_columns(names, quote_columns)

    @available
    @classmethod
    def file_format(cls, named: Any, options: Any) -> str:
        """The format of a table's files, by the options of its model. Raises CompilationError."""
        found, problem = format_of(named, options)
        if problem:
            raise CompilationError(f"Expected a known format; found {problem}. Correct it in the model.")
        return found

    @available
    def string_literal(self, text: str) -> str:
        """A SQL string of exactly this text."""
        return literal(text)

    @available
    @classmethod
    def all_of(cls, conditions: Iterable[str]) -> str:
        """SQL that is true where all conditions are, however many there are."""
        return all_of(conditions)

    @available
    def short_comment(self, comment: str) -> str:
        """A column's comment, cut to what the metastore keeps."""
        return comments.short_comment(comment)

    @available
    def comment_properties(self, column_comments: Mapping[str, str]) -> dict[str, str]:
        """Table properties with the full texts of the comments that are cut."""
        return comments.comment_properties(column_comments)

    @available.parse_none
    def set_comments(
        self, relation: BaseRelation, table_comment: str | None, column_comments: Mapping[str, str]
    ) -> None:
        """Write descriptions to the metastore, if they differ from those there."""
        later = partial(self.set_comments, relation, table_comment, dict(column_comments))
        if self.staging.when_published(_own(relation), later):
            return
        name = _own(relation).table_name
        with self.connections.exception_handler(f"comment on {name}"):
            kernel = self.operations.kernel()
            base = find_row(kernel.metastore, name)
            for row in dict.fromkeys([name, base.name if base else name]):
                comments.set_comments(kernel, row, table_comment, dict(column_comments))

    # -- dbt debug -----------------------------------------------------------------------------

    def debug_query(self) -> None:
        """The checks of ``dbt debug``, each printed."""
        with rehearsal(self.config.credentials):
            run_checks(self.config.credentials, lambda: self.handle, logger.info)


def _own(relation: BaseRelation) -> LakemergeRelation:
    """The relation with its own type: dbt makes all relations by :attr:`LakemergeAdapter.Relation`."""
    return cast(LakemergeRelation, relation)
