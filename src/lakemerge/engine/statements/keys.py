"""The key and the sequence of a table, as the merges of its model have them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING

from lakemerge.engine.merge.ledger import commit_purpose
from lakemerge.engine.merge.merge_options import MergeConfig
from lakemerge.engine.merge.merge_plan import MergePlan
from lakemerge.engine.publish.node_transaction import NodeTransaction
from lakemerge.engine.sql_text import quote

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from lakemerge.engine.relations.table_schema import SchemaPlan


def merge_plan(config: MergeConfig, txn: NodeTransaction, hidden: Mapping[str, str]) -> MergePlan:
    """How a feed with all columns of a table would be merged into it.

    Args:
        hidden: columns of the model's feed that do not reach the table, with Spark's types.

    Raises:
        LedgerMismatch: the table's ledger is for another key or sequence.
    """
    plan = MergePlan.make(config, in_feed(txn, hidden), rows_as_feed(txn, hidden), txn.base, txn.table)
    return dataclasses.replace(plan, ledger=commit_purpose(txn, plan.ledger))


def in_feed(txn: NodeTransaction, hidden: Mapping[str, str]) -> SchemaPlan:
    """The table's columns as those of a feed, but for hidden ones."""
    columns = (dataclasses.replace(column, in_feed=column.name not in hidden) for column in txn.plan.columns)
    return dataclasses.replace(txn.plan, columns=tuple(columns))


def rows_as_feed(txn: NodeTransaction, hidden: Mapping[str, str]) -> DataFrame:
    """No rows, in the columns of a feed that has all columns of the table, and the hidden ones."""
    nulls = [f"cast(null as {kind}) as {quote(name)}" for name, kind in hidden.items()]
    shown = {column.name for column in txn.plan.columns} - set(hidden)
    rows = txn.spark.table(txn.table).limit(0)
    return rows.selectExpr(*(quote(name) for name in rows.columns if name.lower() in shown), *nulls)
