"""The adapter's methods for the node that runs: its options, and its rows brought into its table."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from dbt.adapters.base import available
from dbt.adapters.lakemerge.compact.driver import compact_after_commit
from dbt.adapters.lakemerge.drivers import config_of, driver_of
from dbt.adapters.lakemerge.merge_on_read.deltas import has_time_to_compact
from dbt.adapters.lakemerge.merge_on_read.write_modes import WriteModes
from dbt.adapters.lakemerge.options.reader import config_errors
from dbt.adapters.lakemerge.options.write import WriteConfig
from dbt.adapters.lakemerge.publish.capability import Capability
from dbt.adapters.lakemerge.publish.macros import Macros
from dbt.adapters.lakemerge.publish.responses import CommitResponse
from dbt.adapters.lakemerge.relation import LakemergeRelation
from dbt.adapters.lakemerge.staging.methods import StagingMethods

from lakemerge.kernel import find_row


class NodeMethods(Capability):
    """``adapter.nodes``; see the materializations for its use."""

    @available.parse_none
    def config(self, model: Mapping[str, Any], strategy: str | None = None) -> WriteConfig:
        """The model's options about writing, checked. Raises CompilationError naming all that are wrong."""
        with config_errors():
            return config_of(model["config"], strategy)

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
        with self.guarded():
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
    ) -> CommitResponse:
        """Bring the rows of the running node (``lakemerge_feed``) into its table, in one commit, now or after tests.

        Args:
            context: dbt's, of the node.
            strategy: one of :data:`DRIVERS`.
            rebuild: replace the existing table by a new one, whatever its schema.

        Returns:
            The response for dbt's result line.
        """
        with config_errors():
            has_time_to_compact(Macros(context))
        if options.publishes_after_tests:
            return StagingMethods(self.host).stage(context, strategy, relation, options, rebuild)
        publisher, macros = self.publisher(relation, options, context["model"]), Macros(context)
        driver = driver_of(strategy, options)(publisher, macros, rebuild=rebuild)
        response = WriteModes(publisher, macros).publish(driver)
        compact_after_commit(publisher, macros)
        return response
