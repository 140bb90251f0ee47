"""The registry of strategies: how a node's rows come into its table, by the strategy's name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lakemerge.engine.history.history_options import Scd2MergeConfig, SnapshotConfig
from lakemerge.engine.history.scd2_driver import Scd2Merge
from lakemerge.engine.history.snapshot_driver import Snapshot
from lakemerge.engine.merge.change_driver import Merge
from lakemerge.engine.merge.delete_insert import DeleteInsert
from lakemerge.engine.merge.merge_options import DeleteInsertConfig, MergeConfig
from lakemerge.engine.merge.on_read import MergeOnRead
from lakemerge.engine.options.append import AppendConfig
from lakemerge.engine.options.write import WriteConfig
from lakemerge.engine.publish.driver import Driver
from lakemerge.engine.publish.strategies import Append, InsertOverwrite, Microbatch, Replace


@dataclass(frozen=True)
class Strategy:
    """A strategy.

    Attributes:
        options: what a model's config says about writing.
        driver: brings the rows into the table.
        on_read: does so for a table that is merged on read; ``None`` where none is.
        makes_tables: whether its driver makes the table too. Of the others, the first rows replace what is there.
        in_one_commit: whether a run's rows are one commit.
    """

    options: type[WriteConfig]
    driver: type[Driver[Any]]
    on_read: type[Driver[Any]] | None = None
    makes_tables: bool = False
    in_one_commit: bool = True

    def driver_for(self, options: WriteConfig) -> type[Driver[Any]]:
        """The driver of a table that is written with these options."""
        return self.on_read if self.on_read and options.merges_on_read else self.driver


#: dbt's incremental strategies.
INCREMENTAL: Mapping[str, Strategy] = {
    "append": Strategy(AppendConfig, Append),
    "merge": Strategy(MergeConfig, Merge, on_read=MergeOnRead),
    "delete+insert": Strategy(DeleteInsertConfig, DeleteInsert),
    "insert_overwrite": Strategy(WriteConfig, InsertOverwrite),
    "microbatch": Strategy(WriteConfig, Microbatch, makes_tables=True, in_one_commit=False),
}
#: What tables, seeds and clones do, and incremental models whose rows replace what is there.
REPLACE = Strategy(AppendConfig, Replace, makes_tables=True)
#: How a table is made whose custom strategy, which a dbt project defines, writes to it by SQL of its own afterwards.
CUSTOM = Strategy(WriteConfig, Replace, makes_tables=True)
#: A merge that keeps history.
SCD2 = Strategy(Scd2MergeConfig, Scd2Merge, makes_tables=True)
SNAPSHOT = Strategy(SnapshotConfig, Snapshot, makes_tables=True)
#: What requests name.
STRATEGIES: Mapping[str, Strategy] = {
    **INCREMENTAL,
    "replace": REPLACE,
    "snapshot": SNAPSHOT,
    "custom": CUSTOM,
}


def config_of(config: Mapping[str, Any], strategy: str, *, strict: bool = False) -> WriteConfig:
    """A table's options about writing.

    Args:
        strategy: one of :data:`STRATEGIES`.
        strict: whether names are refused that are no option of ours; a dbt config has names of others too.

    Raises:
        InvalidConfig: some options are wrong; the message names them all.
    """
    if strategy == "merge" and str(config.get("stored_as_scd_type")) == "2":
        return SCD2.options.of(config, strict=strict)
    return STRATEGIES[strategy].options.of(config, strict=strict)


def run_as(name: str, options: WriteConfig, *, rebuild: bool, exists: bool) -> tuple[Strategy, bool]:
    """The strategy by which a node's rows are written now, and whether that puts a new table in the place of the old.

    The first load of a change feed goes through its strategy like every other. Rows that are no feed replace what is
    there, as dbt does elsewhere.

    Args:
        name: one of :data:`STRATEGIES`.
        rebuild: put a new table in the place of what is there.
        exists: whether the table is there.
    """
    strategy = SCD2 if isinstance(options, SCD2.options) else STRATEGIES[name]
    anew = rebuild or not (exists or options.reads_a_feed)
    if anew and not (strategy.makes_tables or options.reads_a_feed):
        return REPLACE, False
    return strategy, anew
