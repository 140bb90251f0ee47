"""The changes of one table in a transaction: kept on disk until they are merged by the rules of the table's model."""

from __future__ import annotations

import contextlib
import dataclasses
import logging
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dbt.adapters.lakemerge.compact.driver import compact_after_commit
from dbt.adapters.lakemerge.drivers import driver_of
from dbt.adapters.lakemerge.merge.options import MergeConfig
from dbt.adapters.lakemerge.options.append import AppendConfig
from dbt.adapters.lakemerge.options.rules import RULES, TableRules
from dbt.adapters.lakemerge.options.write import WriteConfig
from dbt.adapters.lakemerge.publish.driver import Driver
from dbt.adapters.lakemerge.publish.feeds import FEED
from dbt.adapters.lakemerge.publish.node_transaction import NodeTransaction
from dbt.adapters.lakemerge.publish.publisher import Publisher
from dbt.adapters.lakemerge.relations.table_schema import spark_type, unsized
from dbt.adapters.lakemerge.spark.handle import SessionHandle
from dbt.adapters.lakemerge.transactions.packaged_macros import packaged_macros
from dbt.adapters.lakemerge.transactions.rows import DELETES, ORDER, ChangeColumns, arrow_of, frame_of
from dbt_common.exceptions import DbtRuntimeError
from pyspark.errors import PySparkException
from pyspark.sql.types import BooleanType, DataType, LongType, StructField, StructType

from lakemerge.errors import LakemergeError, SchemaChanged, UnsupportedTable
from lakemerge.kernel import Kernel, TableName, Transaction, find_row

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_LOG = logging.getLogger("lakemerge")
# Records wait in memory until they are so many, or the commit comes.
_BUFFERED_RECORDS = 10_000

#: Takes what was staged for a table.
HandOver = Callable[[Transaction], None]


@dataclass(frozen=True)
class Staged:
    """What was staged for a table, and who has done it."""

    driver: Driver[Any]
    txn: NodeTransaction

    def tidy(self) -> None:
        """Do what pays off after the commit; a later one tries again what fails."""
        publisher, macros = self.driver.publisher, self.driver.macros
        try:
            publisher.note(self.txn)
            self.driver.tidy()
            compact_after_commit(publisher, macros)
        except (DbtRuntimeError, LakemergeError, PySparkException) as error:
            _LOG.info(
                "%s was not tidied up after a commit; a later one tries again: %s", publisher.name, error
            )


class TableChanges:
    """What a transaction does to one table.

    Attributes:
        name: the table.
        strategy: ``merge`` or ``append``.
    """

    def __init__(self, kernel: Kernel, spark: SparkSession, name: TableName) -> None:
        """
        Raises:
            TableNotFound, UnsupportedTable, ClaimHeld: it cannot be written, or its model has recorded no rules.
        """
        self.name = name
        self._kernel = kernel
        self._spark = spark
        state, manifest = kernel.settled(name)
        rules = _rules(kernel, name, state.commit_column)
        self._schema = _schema_of(manifest)
        self._table_id = manifest.table_id
        self.strategy = rules.strategy
        self._constraints = rules.constraints
        read = _columns_read(spark, rules.options.get("sequence_by", ()))
        stored = {
            column.name: _type_of(column.type)
            for column in (*manifest.columns, *manifest.partition_columns)
            if column.name != state.commit_column and column.name not in rules.feed
        }
        # of what the model gives and the table has not, only this matters to a change
        hidden = {column: _type_of(kind) for column, kind in rules.feed.items() if column in read}
        self._columns = ChangeColumns(str(name), {**stored, **hidden})
        self._config = _config(rules, [*hidden, ORDER, DELETES])
        self._stored = tuple(stored)
        self._sequence = read & set(self._columns.types)
        self._spool: Transaction | None = None
        self._buffer: list[tuple[Any, ...]] = []
        self._batches: list[str] = []
        self._folders = 0
        self._next = 0

    @property
    def has_changes(self) -> bool:
        return bool(self._batches or self._buffer)

    @property
    def on_foreign_write(self) -> str:
        return self._config.on_foreign_write

    # -- collecting ----------------------------------------------------------------------------

    def begin(self, on_lost: Callable[[str], None]) -> None:
        """Open the kernel transaction that guards the batches; it is never committed.

        Args:
            on_lost: told if its lease is lost; see :meth:`Transaction.watch_lease`.
        """
        self._spool = self._kernel.begin(self.name, "transaction")
        self._spool.watch_lease(on_lost)
        _ = self._spool.stage_directory  # begins its heartbeat

    def lease_loss(self) -> str | None:
        """Why other processes may have deleted the batches; ``None`` while they are safe."""
        return self._spool.lease_loss() if self._spool else None

    def upsert(self, rows: Any) -> None:
        """Rows that take the place of those with their keys, or are new."""
        self._require("merge", "upsert")
        assert isinstance(self._config, MergeConfig)
        required = self._keys if self._config.ignore_null_updates else self._stored
        self._add(rows, [*required, *sorted(self._sequence - set(required))], deletes=False)

    def delete(self, keys: Any) -> None:
        """Keys whose rows go, with the columns of the sequence."""
        self._require("merge", "delete")
        self._add(keys, [*self._keys, *sorted(self._sequence - set(self._keys))], deletes=True)

    def append(self, rows: Any) -> None:
        """Rows that come besides all others."""
        self._require("append", "append")
        self._add(rows, self._stored, deletes=False)

    @property
    def _keys(self) -> tuple[str, ...]:
        assert isinstance(self._config, MergeConfig)
        return self._config.unique_key

    def _require(self, strategy: str, call: str) -> None:
        if self.strategy != strategy:
            other = "append" if strategy == "merge" else "upsert and delete"
            keyed = strategy == "merge"
            raise UnsupportedTable(
                expected=f"{self.name} to be a table {'with' if keyed else 'without'} a unique_key, for {call}",
                found=f"one {'without' if keyed else 'with'} one",
                action=f"Use {other} for it.",
            )

    def _add(self, rows: Any, required: Collection[str], *, deletes: bool) -> None:
        frame, arrow = frame_of(rows), arrow_of(rows)
        if frame is not None:
            self._write_buffer()
            place = f"cast({self._next} as bigint) as {ORDER}"
            self._write(
                self._columns.selected(frame, required, place, f"{str(deletes).lower()} as {DELETES}")
            )
            self._next += 1
        elif arrow is not None:
            self._write_buffer()
            numbered = self._spark.createDataFrame(self._columns.numbered(arrow, self._next))
            self._write(
                self._columns.selected(numbered, required, ORDER, f"{str(deletes).lower()} as {DELETES}")
            )
            self._next += arrow.num_rows
        else:
            for values in self._columns.tuples([rows] if isinstance(rows, Mapping) else rows, required):
                self._buffer.append((*values, self._next, deletes))
                self._next += 1
                if len(self._buffer) >= _BUFFERED_RECORDS:
                    self._write_buffer()

    def _write_buffer(self) -> None:
        if self._buffer:
            frame = self._spark.createDataFrame(self._buffer, self._feed_schema, verifySchema=False)
            self._write(frame.coalesce(1))
            self._buffer = []

    def _write(self, frame: DataFrame) -> None:
        assert self._spool is not None
        self._folders += 1  # one whose rows could not be computed is not written to again
        folder = f"{self._spool.stage_directory}/batch-{self._folders:06}"
        frame.write.format("orc").option("compression", "zstd").save(folder)
        self._batches.append(folder)

    @property
    def _feed_schema(self) -> StructType:
        fields = [StructField(ORDER, LongType()), StructField(DELETES, BooleanType())]
        return StructType([*self._columns.schema.fields, *fields])

    # -- merging -------------------------------------------------------------------------------

    def finish(self) -> None:
        """Bring what is still in memory to disk."""
        self._write_buffer()

    def stage(self, handle: SessionHandle, hand_over: HandOver) -> Staged:
        """Stage what the changes make of the table's newest version, if that is anything.

        Args:
            hand_over: gets the staged transaction.

        Raises:
            CommitConflict: the table has moved on; stage it again.
            SchemaChanged: it is another table now, or has other columns.
        """
        _, manifest = self._kernel.settled(self.name)
        if manifest.table_id != self._table_id or _schema_of(manifest) != self._schema:
            raise SchemaChanged(
                expected=f"{self.name} to be the table that the transaction began with, with the same columns",
                found="other columns" if manifest.table_id == self._table_id else "a new table of that name",
                action="Nothing was committed. Begin another transaction and make the changes again.",
            )
        feed = handle.spark.read.schema(self._feed_schema).orc(self._batches)
        if self.strategy == "append":
            feed = feed.drop(ORDER, DELETES)
        feed.createOrReplaceTempView(FEED)
        publisher = Publisher(
            handle,
            self._kernel,
            self.name,
            self._config,
            guard=lambda _: contextlib.nullcontext(),
            constraints=self._constraints,
            commit=hand_over,
        )
        driver = driver_of(self.strategy, self._config)(publisher, packaged_macros())
        txn = driver.begin()
        driver.attempt(txn)
        return Staged(driver, txn)

    def close(self) -> None:
        """Delete the batches."""
        self._buffer = []
        if self._spool is not None:
            self._spool.abort()


def _rules(kernel: Kernel, name: TableName, commit_column: str) -> TableRules:
    """The rules of a table. Raises UnsupportedTable where there are none."""
    row = find_row(kernel.metastore, name)
    text = row.parameters.get(RULES) if row else None
    if text:
        return TableRules.of_text(text, name)
    if commit_column:
        return TableRules("append", {"append_layout": "commit_partitioned", "commit_column": commit_column})
    raise UnsupportedTable(
        expected=f"{name} to say by which key it is merged, or that rows are appended to it",
        found="a table of a model with another strategy, or not written since by a model that records it",
        action="Use a model with the strategy merge (stored_as_scd_type 1) or append; if it is one, run it once with "
        "rows to merge.",
    )


def _config(rules: TableRules, hidden: list[str]) -> WriteConfig:
    if rules.strategy == "append":
        return AppendConfig.of(rules.options)
    return dataclasses.replace(
        MergeConfig.of(rules.options),
        apply_as_deletes=f"`{DELETES}`",
        change_order=f"`{ORDER}`",
        except_column_list=tuple(hidden),
    )


def _schema_of(manifest: Any) -> tuple[Any, ...]:
    return tuple((column.name, column.type) for column in (*manifest.columns, *manifest.partition_columns))


def _type_of(kind: str) -> DataType:
    """The type of a column in a batch: text of any length is a string, which the merge casts."""
    return spark_type(unsized(kind))


def _columns_read(spark: SparkSession, expressions: Iterable[str]) -> set[str]:
    """The columns that some expressions are made of, in lower case."""
    parser = spark._jsparkSession.sessionState().sqlParser()
    found = set()
    for expression in expressions:
        leaves = parser.parseExpression(expression).collectLeaves()
        for leaf in (leaves.apply(place) for place in range(leaves.size())):
            if leaf.getClass().getSimpleName() == "UnresolvedAttribute":
                found.add(str(leaf.nameParts().apply(0)).lower())
    return found
