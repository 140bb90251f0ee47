"""All that a compaction by hand does to one table: its deltas first, and then the files that they leave."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from lakemerge.engine.history.layout import HistoryLayout
from lakemerge.engine.macros import Macros
from lakemerge.engine.maintenance.compaction import Compaction
from lakemerge.engine.maintenance.compaction_request import Ordering, Request
from lakemerge.engine.merge_on_read.bounds import Bounds
from lakemerge.engine.merge_on_read.deltas import Action, Deltas
from lakemerge.engine.options.reader import OptionReader
from lakemerge.engine.options.write import WriteConfig
from lakemerge.engine.publish.publisher import Publisher

# The options of a model that say how files are written, and how often an attempt is redone.
_OPTIONS = ("target_file_size", "tblproperties", "reader_compatibility", "max_attempts")


@dataclass(frozen=True)
class CompactionOptions:
    """What a compaction is asked for, and what the table's model says about files.

    Attributes:
        config: of the model.
        deltas: what is done to the deltas of a table that is merged on read.
        history: where a history has its closed rows.
        bounds, order: as of :class:`Request`.
    """

    config: WriteConfig
    deltas: Literal["major", "minor", "none"]
    history: HistoryLayout
    bounds: Bounds
    order: Ordering

    @classmethod
    def of(
        cls,
        options: Mapping[str, Any],
        *,
        partitions: str | None = None,
        max_bytes: Any = None,
        sort_by: Any = None,
        zorder_by: Any = None,
        deltas: str | None = None,
    ) -> CompactionOptions:
        """Read the options of a model, and the arguments.

        Args:
            options: of the table's model; empty where no model writes it.
            partitions: SQL over the partition columns.
            max_bytes: bytes, or a size such as ``10gb``.
            deltas: ``major``, the default, ``minor`` or ``none``.

        Raises:
            InvalidConfig: some of it is wrong.
        """
        problems: list[str] = []
        reader = OptionReader({**options, "max_bytes": max_bytes, "deltas": deltas}, problems)
        bounds = Bounds(partitions or "", reader.size("max_bytes", 0) or None)
        wanted: Any = reader.choice("deltas", "major", "minor", "none")
        history = HistoryLayout.of(reader)
        reader.require_sound("valid arguments", "Correct these arguments.")
        config = WriteConfig.of({name: options.get(name) for name in _OPTIONS})
        return cls(config, wanted, history, bounds, Ordering.of(sort_by, zorder_by))


class TableCompaction:
    """A compaction of one table.

    Its methods give ``deltas`` and ``files``, each ``None`` where there is nothing to do; or ``None`` for both.
    """

    def __init__(self, publisher: Publisher[Any], macros: Macros, options: CompactionOptions) -> None:
        """
        Args:
            publisher: of a table that has versions.
        """
        self._publisher = publisher
        self._wanted = options.deltas
        self._deltas = Deltas(publisher, macros)
        state, self._manifest = publisher.kernel.settled(publisher.name)
        keys = [column.name for column in self._manifest.partition_columns]
        closed = options.history.partition
        numbered_by = state.commit_column or (closed if keys[-1:] == [closed] else "")
        self._bounds = options.bounds
        request = Request("operation", options.bounds, options.order)
        self._files = Compaction(publisher, macros, request, numbered_by)

    def planned(self) -> dict[str, Any] | None:
        """What :meth:`run` would do, in numbers."""
        action = self._action()
        return _unless_empty(
            self._deltas.planned(action) if action else None, self._files.planned(self._manifest)
        )

    def run(self) -> dict[str, Any] | None:
        """Do what the table needs; returns the log's record of each as a mapping."""
        action = self._action()
        # deltas that are moved into the base leave files there, which are packed next
        deltas = self._deltas.compact(action, "operation", self._bounds) if action else None
        if deltas:
            spent = self._bounds.without(deltas["bytes_before"] if deltas["done"] else 0)
            self._files.request = dataclasses.replace(self._files.request, bounds=spent)
        record = self._files.run()
        self._deltas.retire()
        return _unless_empty(deltas, record.as_dict() if record else None)

    def _action(self) -> Action | None:
        wanted = self._wanted
        if wanted == "none" or self._deltas.count() <= (wanted == "minor"):
            return None
        return wanted


def _unless_empty(deltas: dict[str, Any] | None, files: dict[str, Any] | None) -> dict[str, Any] | None:
    return {"deltas": deltas, "files": files} if deltas or files else None
