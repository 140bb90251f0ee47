"""The adapter's methods for the node that runs: its options, and its rows brought into its table."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from dbt.adapters.base import available
from dbt.adapters.lakemerge.after_tests.methods import StagingMethods
from dbt.adapters.lakemerge.capability import Capability
from dbt.adapters.lakemerge.dbt_errors import config_errors
from dbt.adapters.lakemerge.dbt_macros import DbtMacros
from dbt.adapters.lakemerge.relation import LakemergeRelation
from dbt.adapters.lakemerge.responses import CommitResponse

from lakemerge.engine.lifecycle import Lifecycle
from lakemerge.engine.merge_on_read.deltas import has_time_to_compact
from lakemerge.engine.options.write import WriteConfig
from lakemerge.engine.strategies import INCREMENTAL, config_of, run_as
from lakemerge.kernel import find_row


class NodeMethods(Capability):
    """``adapter.nodes``; see the materializations for its use."""

    @available.parse_none
    def config(self, model: Mapping[str, Any], strategy: str | None = None) -> WriteConfig:
        """The model's options about writing, checked. Raises CompilationError naming all that are wrong."""
        with config_errors():
            return config_of(model["config"], strategy)

    @available.parse(lambda *args, **kwargs: True)
    def knows(self, strategy: str) -> bool:
        """Whether an incremental strategy is one of dbt's, and not the project's own."""
        return strategy in INCREMENTAL

    @available.parse_none
    def clone_config(self, model: Mapping[str, Any], source: LakemergeRelation) -> WriteConfig:
        """The options about writing of a clone: files as the model wants them, partitions as its source has them."""
        names = (
            "file_format",
            "options",
            "location_root",
            "tblproperties",
            "target_file_size",
            "max_attempts",
        )
        with config_errors():
            config = WriteConfig.of({name: model["config"].get(name) for name in names})
        table = find_row(self.handle.application.metastore, source.table_name)
        return dataclasses.replace(
            config, partition_by=tuple(column.name for column in table.partition_columns) if table else ()
        )

    @available.parse_none
    def publish(
        self,
        context: Mapping[str, Any],
        strategy: str,
        relation: LakemergeRelation,
        options: WriteConfig,
        rebuild: bool = False,
        exists: bool = True,
    ) -> CommitResponse:
        """Bring the rows of the running node (``lakemerge_feed``) into its table, in one commit, now or after tests.

        Args:
            context: dbt's, of the node.
            strategy: one of :data:`STRATEGIES`.
            rebuild: replace the existing table by a new one, whatever its schema.
            exists: whether the table is there.

        Returns:
            The response for dbt's result line.
        """
        with config_errors():
            has_time_to_compact(DbtMacros(context))
        chosen, anew = run_as(strategy, options, rebuild=rebuild, exists=exists)
        driver = chosen.driver_for(options)
        if options.publishes_after_tests:
            return StagingMethods(self.host).stage(context, driver, relation, options, anew)
        publisher = self.publisher(relation, options, context["model"])
        done = Lifecycle(driver(publisher, DbtMacros(context), rebuild=anew)).publish()
        return CommitResponse.of(done)
