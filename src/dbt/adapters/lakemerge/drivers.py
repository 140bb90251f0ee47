"""The drivers of nodes that have a feed, and their options, by name of the strategy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dbt.adapters.lakemerge.history.options import Scd2MergeConfig
from dbt.adapters.lakemerge.history.scd2_driver import Scd2Merge
from dbt.adapters.lakemerge.history.snapshot_driver import Snapshot
from dbt.adapters.lakemerge.merge.delete_insert import DeleteInsert
from dbt.adapters.lakemerge.merge.driver import Merge
from dbt.adapters.lakemerge.merge.on_read import MergeOnRead
from dbt.adapters.lakemerge.merge.options import DeleteInsertConfig, MergeConfig
from dbt.adapters.lakemerge.options.append import AppendConfig
from dbt.adapters.lakemerge.options.write import WriteConfig
from dbt.adapters.lakemerge.publish.driver import Driver
from dbt.adapters.lakemerge.publish.strategies import Append, InsertOverwrite, Microbatch, Replace

#: dbt's strategies; ``replace`` for a table's whole content, ``scd2`` for a merge that keeps history, ``snapshot``.
DRIVERS: Mapping[str, type[Driver[Any]]] = {
    "replace": Replace,
    "append": Append,
    "insert_overwrite": InsertOverwrite,
    "delete+insert": DeleteInsert,
    "microbatch": Microbatch,
    "merge": Merge,
    "scd2": Scd2Merge,
    "snapshot": Snapshot,
    "merge on read": MergeOnRead,
}

_CONFIGS: Mapping[str | None, type[WriteConfig]] = {
    None: AppendConfig,
    "append": AppendConfig,
    "merge": MergeConfig,
    "delete+insert": DeleteInsertConfig,
}


def driver_of(strategy: str, options: WriteConfig) -> type[Driver[Any]]:
    """The driver of a strategy with these options."""
    return DRIVERS["merge on read" if strategy == "merge" and options.merges_on_read else strategy]


def config_of(config: Mapping[str, Any], strategy: str | None) -> WriteConfig:
    """A model's options about writing.

    Args:
        strategy: the incremental strategy, which the project may define itself; ``None`` for a table or a seed.

    Raises:
        InvalidConfig: some options are wrong; the message names them all.
    """
    if strategy == "merge" and str(config.get("stored_as_scd_type")) == "2":
        return Scd2MergeConfig.of(config)
    return _CONFIGS.get(strategy, WriteConfig).of(config)
