"""The drivers of nodes that have a feed, by the name of what they do."""

from __future__ import annotations

from collections.abc import Mapping

from dbt.adapters.lakemerge.history.scd2_driver import Scd2Merge
from dbt.adapters.lakemerge.history.snapshot_driver import Snapshot
from dbt.adapters.lakemerge.merge.delete_insert import DeleteInsert
from dbt.adapters.lakemerge.merge.driver import Merge
from dbt.adapters.lakemerge.publish.driver import Driver
from dbt.adapters.lakemerge.publish.strategies import Append, InsertOverwrite, Microbatch, Replace

#: dbt's strategies; ``replace`` for a table's whole content, ``scd2`` for a merge that keeps history, ``snapshot``.
DRIVERS: Mapping[str, type[Driver]] = {
    "replace": Replace,
    "append": Append,
    "insert_overwrite": InsertOverwrite,
    "delete+insert": DeleteInsert,
    "microbatch": Microbatch,
    "merge": Merge,
    "scd2": Scd2Merge,
    "snapshot": Snapshot,
}
