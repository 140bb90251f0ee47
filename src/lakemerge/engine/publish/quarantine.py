"""The records that an ingest has rejected: side data of the table, written with the commit of its rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakemerge.engine.publish.node_transaction import NodeTransaction
from lakemerge.engine.spark.own_sql import run_sql
from lakemerge.engine.spark.record_planning import planned_for_records
from lakemerge.engine.spark.small_frames import empty_frame
from lakemerge.kernel import SIDE_TABLES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_QUARANTINE = "quarantine"
_ROWS_OF_FILE = 1_000_000


def quarantined(txn: NodeTransaction) -> DataFrame:
    """The rejected records of the version that an attempt builds on."""
    columns = ", ".join(f"{column.name} {column.type}" for column in SIDE_TABLES[_QUARANTINE].columns)
    paths = txn.side_data.folders(_QUARANTINE)
    if not paths:
        return empty_frame(txn.spark, columns)
    return txn.spark.read.schema(columns).format("orc").load(paths)


def add_to_quarantine(txn: NodeTransaction, sql: str, rows: int) -> None:
    """Write rejected records beside those of earlier commits.

    Args:
        rows: about how many records there are; all files are read for them, by as many tasks as that takes.
    """
    with planned_for_records(txn.spark, len(txn.plan.columns)):
        records = run_sql(txn.spark, sql)
        if txn.side_data.has_many_folders(_QUARANTINE):
            txn.side_data.replace(_QUARANTINE, _gathered(quarantined(txn).unionByName(records), rows))
        else:
            txn.side_data.add(_QUARANTINE, _gathered(records, rows))


def replace_quarantine(txn: NodeTransaction, sql: str, rows: int) -> None:
    """Write rejected records in the place of those of earlier commits; the arguments are as above."""
    with planned_for_records(txn.spark, len(txn.plan.columns)):
        txn.side_data.replace(_QUARANTINE, _gathered(run_sql(txn.spark, sql), rows))


def clear_quarantine(txn: NodeTransaction) -> None:
    """Leave the quarantine without records."""
    txn.side_data.clear(_QUARANTINE)


def _gathered(records: DataFrame, rows: int) -> DataFrame:
    return records.repartition(1 + rows // _ROWS_OF_FILE)
