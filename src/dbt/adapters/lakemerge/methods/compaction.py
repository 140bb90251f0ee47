"""The adapter's methods for compaction: what tables need, runs by hand, and the log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dbt.adapters.base import available
from dbt.adapters.lakemerge.capability import Capability
from dbt.adapters.lakemerge.dbt_errors import config_errors
from dbt.adapters.lakemerge.dbt_macros import DbtMacros
from dbt.adapters.lakemerge.methods.operations import OperationMethods
from dbt.adapters.lakemerge.relation import LakemergeRelation

from lakemerge.engine.maintenance.table_compaction import CompactionOptions, TableCompaction
from lakemerge.engine.operations.arguments import limit_of
from lakemerge.kernel import CompactionLog


class CompactionMethods(Capability):
    """``adapter.compaction``; see the macros `lakemerge_compact` and `lakemerge_compactions` for its use."""

    @available.parse_none
    def compact(
        self,
        context: Mapping[str, Any],
        relation: LakemergeRelation,
        model: Mapping[str, Any] | None = None,
        partitions: str | None = None,
        max_bytes: Any = None,
        sort_by: Any = None,
        zorder_by: Any = None,
        deltas: str | None = None,
        dry_run: bool = False,
    ) -> dict[str, Any] | None:
        """Compact a table, or only report what it needs.

        Args:
            context: dbt's, of the operation.
            model: the node that writes the table, for its options; ``None`` if no model does.
            partitions, max_bytes, sort_by, zorder_by, deltas: as of :meth:`CompactionOptions.of`.

        Returns:
            ``files`` and ``deltas``: the log's record of each as a mapping; of a dry run what would be done:
            ``files_before``, ``bytes_before`` and more. ``None`` if there is nothing to do, or no table with versions.
        """
        with config_errors():
            options = CompactionOptions.of(
                (model or {}).get("config", {}),
                partitions=partitions,
                max_bytes=max_bytes,
                sort_by=sort_by,
                zorder_by=zorder_by,
                deltas=deltas,
            )
        if not OperationMethods(self.host).has_versions(relation, dry_run):
            return None
        kernel = self.kernel(model, options.config, dry_run=dry_run)
        publisher = self.publisher(relation.table_name, options.config, model, kernel=kernel)
        compaction = TableCompaction(publisher, DbtMacros(context), options)
        return compaction.planned() if dry_run else compaction.run()

    @available.parse_list
    def log(self, relation: LakemergeRelation, limit: int | None = None) -> list[dict[str, Any]]:
        """The log of a table's compactions, the newest first; empty where there is no table with versions.

        Each record also says who asked for it (``by``: the node or the program), and in which ``invocation_id``.
        """
        if not OperationMethods(self.host).has_versions(relation):
            return []
        with config_errors():
            most = limit_of(limit)
        log = CompactionLog(self.kernel(), relation.table_name)
        return [
            {
                **record.as_dict(),
                "by": record.requested_by.get("node") or record.requested_by.get("agent", ""),
                "invocation_id": record.requested_by.get("invocation_id", ""),
            }
            for record in log.records(most)
        ]
