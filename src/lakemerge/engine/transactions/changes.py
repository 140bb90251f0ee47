"""The changes of one table in a transaction: kept on disk until they are merged by the rules of the table's model."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pyspark.sql.types import BooleanType, LongType, StructField, StructType

from lakemerge.engine.packaged_macros import packaged_macros
from lakemerge.engine.relations.sized_text import unsized
from lakemerge.engine.relations.table_schema import spark_type
from lakemerge.engine.ruled_table import DELETES, ORDER, HandOver, RuledTable, Staged, WithoutRules
from lakemerge.engine.spark.handle import SessionHandle
from lakemerge.engine.spark.small_frames import arrow_frame
from lakemerge.engine.statements.parsing import Statement
from lakemerge.engine.statements.run import stage
from lakemerge.engine.statements.target import target_of
from lakemerge.engine.transactions.rows import ChangeColumns, arrow_of, frame_of
from lakemerge.errors import SchemaChanged, UnsupportedStatement, UnsupportedTable
from lakemerge.kernel import Kernel, TableName, Transaction

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Records wait in memory until there are this many, or until the commit.
_BUFFERED_RECORDS = 10_000


class TableChanges:
    """What a transaction does to one table.

    Attributes:
        name: the table.
    """

    def __init__(self, kernel: Kernel, spark: SparkSession, name: TableName) -> None:
        """
        Raises:
            TableNotFound, UnsupportedTable, ClaimHeld: it cannot be written.
        """
        self.name = name
        self._kernel = kernel
        self._spark = spark
        self._statement: tuple[Statement, Kernel] | None = None
        self._found: RuledTable | WithoutRules
        try:
            self._found = RuledTable(kernel, spark, name)
        except WithoutRules as error:
            self._found = error  # statements need none
        self._spool: Transaction | None = None
        self._buffer: list[tuple[Any, ...]] = []
        self._batches: list[str] = []
        self._folders = 0
        self._next = 0

    @property
    def has_changes(self) -> bool:
        return bool(self._batches or self._buffer or self._statement)

    @property
    def on_foreign_write(self) -> str:
        return "adopt" if isinstance(self._found, WithoutRules) else self._found.config.on_foreign_write

    @property
    def _table(self) -> RuledTable:
        if isinstance(self._found, WithoutRules):
            raise self._found
        return self._found

    @cached_property
    def _columns(self) -> ChangeColumns:
        # text of any length is a string in a batch, which the merge casts
        types = {column: spark_type(unsized(kind)) for column, kind in self._table.columns.items()}
        return ChangeColumns(str(self.name), types)

    # -- collecting ----------------------------------------------------------------------------

    def begin(self, on_lost: Callable[[str], None]) -> None:
        """Open the kernel transaction that guards the batches; it is never committed.

        Args:
            on_lost: called if its lease is lost; see :meth:`Transaction.watch_lease`.
        """
        self._spool = self._kernel.begin(self.name, "transaction")
        self._spool.watch_lease(on_lost)
        _ = self._spool.stage_directory  # starts its heartbeat

    def lease_loss(self) -> str | None:
        """Why other processes may have deleted the batches; ``None`` while they are safe."""
        return self._spool.lease_loss() if self._spool else None

    def upsert(self, rows: Any) -> None:
        """Take rows that replace those with their keys, or are new."""
        self._require("merge", "upsert")
        self._add(rows, self._table.new_row_columns, deletes=False)

    def delete(self, keys: Any) -> None:
        """Take the keys of rows to delete, with the columns of the sequence."""
        self._require("merge", "delete")
        self._add(keys, self._table.delete_columns, deletes=True)

    def append(self, rows: Any) -> None:
        """Take rows to add to all others."""
        self._require("append", "append")
        self._add(rows, self._table.new_row_columns, deletes=False)

    def execute(self, statement: Statement, kernel: Kernel) -> None:
        """Take a statement, which is carried out when the changes are staged.

        Args:
            kernel: which commits it.

        Raises:
            UnsupportedStatement: it cannot be done, or the transaction changes the table already.
        """
        if self.has_changes:
            raise _second(self.name)
        target_of(kernel, statement, self.name)
        self._statement = statement, kernel

    def _require(self, strategy: str, call: str) -> None:
        if self._statement is not None:
            raise _second(self.name)
        if self._table.strategy != strategy:
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
            numbered = arrow_frame(self._spark, self._columns.numbered(arrow, self._next))
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
        self._folders += 1  # a folder whose rows could not be computed is not written to again
        folder = f"{self._spool.stage_directory}/batch-{self._folders:06}"
        frame.write.format("orc").option("compression", "zstd").save(folder)
        self._batches.append(folder)

    @property
    def _feed_schema(self) -> StructType:
        fields = [StructField(ORDER, LongType()), StructField(DELETES, BooleanType())]
        return StructType([*self._columns.schema.fields, *fields])

    # -- merging -------------------------------------------------------------------------------

    def finish(self) -> None:
        """Write to disk what is still in memory."""
        self._write_buffer()

    def stage(self, handle: SessionHandle, hand_over: HandOver) -> Staged:
        """Stage what the changes make of the table's newest version, if they change anything.

        Args:
            hand_over: gets the staged transaction.

        Raises:
            CommitConflict: the table has moved on; stage it again.
            SchemaChanged: it is another table now, or has other columns, or its model has other rules.
        """
        if self._statement is not None:
            statement, kernel = self._statement
            return stage(statement, self.name, self._spark, handle, kernel, hand_over)
        if (found := self._table.change()) is not None:
            raise SchemaChanged(
                expected=f"{self.name} to be the table that the transaction began with, of the same columns and rules",
                found=found,
                action="Nothing was committed. Begin another transaction and make the changes again.",
            )
        feed = handle.spark.read.schema(self._feed_schema).orc(self._batches)
        if self._table.strategy == "append":
            feed = feed.drop(ORDER, DELETES)
        return self._table.stage(handle, packaged_macros(), feed, hand_over)

    def close(self) -> None:
        """Delete the batches."""
        self._buffer = []
        self._statement = None
        if self._spool is not None:
            self._spool.abort()


def _second(name: TableName) -> UnsupportedStatement:
    return UnsupportedStatement(
        expected=f"one statement on {name} in the transaction, or rows for it",
        found="both, or two statements, of which the second would have to see what the first has done",
        action="Say it in one statement, such as MERGE INTO, or commit in between.",
    )
