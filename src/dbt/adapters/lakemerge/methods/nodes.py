"""The adapter's methods for the node that runs: its options, and its rows brought into its table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dbt.adapters.base import available
from dbt.adapters.lakemerge.after_tests.methods import StagingMethods
from dbt.adapters.lakemerge.capability import AGENT, Capability
from dbt.adapters.lakemerge.dbt_errors import config_errors
from dbt.adapters.lakemerge.dbt_macros import DbtMacros
from dbt.adapters.lakemerge.relation import LakemergeRelation
from dbt.adapters.lakemerge.responses import CommitResponse

from lakemerge.engine.lifecycle import Lifecycle
from lakemerge.engine.merge_on_read.deltas import has_time_to_compact
from lakemerge.engine.publish.node_transaction import Publish
from lakemerge.engine.request import Request, life_of
from lakemerge.engine.strategies import INCREMENTAL, config_of
from lakemerge.engine.versions.choice import Choice
from lakemerge.errors import InvalidConfig, shown
from lakemerge.kernel import TableName, Transaction, find_row

# What a clone takes from its model.
_OF_CLONES = (
    "file_format",
    "options",
    "location_root",
    "tblproperties",
    "target_file_size",
    "reader_compatibility",
    "max_attempts",
)


class NodeMethods(Capability):
    """``adapter.nodes``; see the materializations for its use."""

    @available.parse_none
    def request(
        self,
        relation: LakemergeRelation,
        model: Mapping[str, Any],
        strategy: str = "replace",
        rebuild: bool = False,
    ) -> Request:
        """What a node asks for. Its rows are to become readable as ``lakemerge_feed``.

        Raises:
            CompilationError: names all options that are wrong.
        """
        return _checked(relation, strategy, model["config"], rebuild)

    @available.parse_none
    def clone_request(
        self, relation: LakemergeRelation, model: Mapping[str, Any], source: LakemergeRelation, at: Any
    ) -> Request:
        """What a clone asks for: files as the model wants them, partitions as its source has them.

        Args:
            at: the version of the source, as :meth:`Choice.of` reads it; empty for its rows as they are now.

        Raises:
            CompilationError: options are wrong, or do not say a version.
            DbtRuntimeError: there is no such version.
        """
        options = {name: model["config"].get(name) for name in _OF_CLONES}
        ports = self.handle.application.ports
        if at:
            version = _choice(at).find(ports, source.table_name)[1]
            options["partition_by"] = [column.name for column in version.partition_columns]
        elif (table := find_row(ports.metastore, source.table_name)) is not None:
            options["partition_by"] = [column.name for column in table.partition_columns]
        return _checked(relation, "replace", options)

    @available.parse(lambda *args, **kwargs: True)
    def knows(self, strategy: str) -> bool:
        """Whether an incremental strategy is one of dbt's, and not the project's own."""
        return strategy in INCREMENTAL

    @available.parse_none
    def publish(self, context: Mapping[str, Any], request: Request, exists: bool = True) -> CommitResponse:
        """Bring the rows of the running node (``lakemerge_feed``) into its table, in one commit, now or after tests.

        Args:
            context: dbt's, of the node.
            exists: whether the table is there.

        Returns:
            The response for dbt's result line.
        """
        model, macros = context["model"], DbtMacros(context)
        with config_errors():
            has_time_to_compact(macros)
            options = config_of(request.options, request.strategy)
        name = TableName.parse(request.table, "")

        def life(commit: Publish) -> Lifecycle:
            return life_of(
                request, self.publisher(name, options, model, commit=commit), macros, exists=exists
            )

        if options.publishes_after_tests:
            return StagingMethods(self.host).stage(name, model, life)
        return CommitResponse.of(life(Transaction.commit).publish())


def _checked(
    relation: LakemergeRelation, strategy: str, options: Mapping[str, Any], rebuild: bool = False
) -> Request:
    with config_errors():
        config_of(options, strategy)
    return Request(str(relation.table_name), strategy, options, agent=AGENT, rebuild=rebuild)


def _choice(at: Any) -> Choice:
    with config_errors():
        if not isinstance(at, Mapping) or not set(at) <= {"version", "timestamp", "tag", "group"}:
            raise InvalidConfig(
                expected="lakemerge_clone_at to be {tag: …}, {timestamp: …}, {version: …} or {group: …}",
                found=shown(at),
                action="Correct the var.",
            )
        return Choice.of(**at)
