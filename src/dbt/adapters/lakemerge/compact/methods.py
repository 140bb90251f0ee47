"""The adapter's methods for compaction: what tables need, runs by hand, and the log."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from dbt.adapters.base import available
from dbt.adapters.lakemerge.compact.driver import Compaction
from dbt.adapters.lakemerge.compact.request import Ordering, Request
from dbt.adapters.lakemerge.history.layout import HistoryLayout
from dbt.adapters.lakemerge.options.reader import OptionReader, config_errors
from dbt.adapters.lakemerge.options.write import WriteConfig
from dbt.adapters.lakemerge.publish.deltas import Action, Deltas
from dbt.adapters.lakemerge.publish.macros import Macros
from dbt.adapters.lakemerge.publish.operations import OperationMethods
from dbt.adapters.lakemerge.relation import LakemergeRelation

from lakemerge.kernel import CompactionLog

# Of a model's options, those that say how files are written.
_OPTIONS = ("target_file_size", "tblproperties", "max_attempts")


class CompactionMethods(OperationMethods):
    """A mixin of the adapter; see the macros `lakemerge_compact` and `lakemerge_compactions` for its use."""

    @available.parse_none
    def compact_table(
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
        """Compact a table, or only tell what it needs.

        Args:
            context: dbt's, of the operation.
            model: the node that writes the table, for its options; ``None`` if no model does.
            partitions: SQL over the partition columns.
            max_bytes: bytes, or a size such as ``10gb``.
            deltas: of a table that is merged on read: ``major``, ``minor`` or ``none``; by default ``major`` if the
                table as a whole is to be compacted.

        Returns:
            ``files`` and ``deltas``: the log's record of each as a mapping; of a dry run what would be done:
            ``groups``, ``partitions``, ``files``, ``files_after`` and ``bytes``. ``None`` if there is nothing to do, or
            no table with versions.
        """
        problems: list[str] = []
        options = dict((model or {}).get("config", {}))
        with config_errors():
            config = WriteConfig.of({name: options.get(name) for name in _OPTIONS})
            reader = OptionReader({**options, "max_bytes": max_bytes, "deltas": deltas}, problems)
            limit = reader.size("max_bytes", 0) or None
            wanted = reader.choice(
                "deltas", "none" if partitions or limit else "major", "major", "minor", "none"
            )
            history = HistoryLayout.of(reader)
            reader.require_sound("valid arguments", "Correct these arguments.")
            order = Ordering.of(sort_by, zorder_by)
        publisher = self.publisher(relation, config, model)
        with self._guarded():
            if not self.has_versions(relation):
                return None
            state, manifest = publisher.kernel.settled(relation.table_name)
        keys = [column.name for column in manifest.partition_columns]
        numbered_by = state.commit_column or (history.partition if keys[-1:] == [history.partition] else "")
        request = Request("operation", partitions=partitions or "", max_bytes=limit, order=order)
        compaction = Compaction(publisher, Macros(context), request, numbered_by)
        folding = Deltas(publisher, compaction.macros)
        with self._guarded():
            count = folding.count()
        action: Action | None = None
        if wanted != "none" and count > (wanted == "minor"):
            action = "minor" if wanted == "minor" else "major"
        if dry_run:
            with self._guarded():
                found = {
                    "deltas": folding.planned(action) if action else None,
                    "files": compaction.planned(manifest),
                }
        else:
            # moved into the base, deltas leave files that are packed next
            done = folding.compact(action, "operation") if action else None
            record = compaction.run()
            with self._guarded():
                folding.retire()
            found = {"deltas": done, "files": dataclasses.asdict(record) if record else None}
        return found if any(found.values()) else None

    @available.parse_list
    def table_compactions(
        self, relation: LakemergeRelation, limit: int | None = None
    ) -> list[dict[str, Any]]:
        """The log of a table's compactions, the newest first; empty where there is no table with versions."""
        if not self.has_versions(relation):
            return []
        with self._guarded():
            log = CompactionLog(self._kernel({}, None), relation.table_name)
            return [dataclasses.asdict(record) for record in log.records(limit)]
