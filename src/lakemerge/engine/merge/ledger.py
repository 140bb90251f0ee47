"""What a merge's ledger was made for: the key and the sequence by which it remembers changes.

A ledger holds keys and sequences, but not their rows. A merge that read it for another key would take new rows for
deleted ones; with another sequence it would take new changes for late ones. So the manifest records what the ledger is
for, and a merge that would read it for anything else is refused.
"""

from __future__ import annotations

import dataclasses
import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions
from pyspark.sql.types import StructType

from lakemerge.engine.layout.joins import Amount
from lakemerge.engine.relations.sized_text import padded, unsized
from lakemerge.engine.relations.table_schema import is_wider, spark_type
from lakemerge.engine.spark.own_sql import run_sql
from lakemerge.engine.spark.zones import java_zone
from lakemerge.errors import CommitConflict, InvalidConfig, LedgerMismatch
from lakemerge.kernel import LEDGER_RESET, Kernel, TableName

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lakemerge.engine.publish.node_transaction import NodeTransaction

_LOG = logging.getLogger("lakemerge")

#: The kind of side data.
LEDGER = "ledger"
# The column that only ledgers of histories have.
_ROW = "__row"
_RECORDED_AT = "__recorded_at"
# The format of ledgers whose purpose names none: those of earlier versions.
_FORMAT_OF_OLD = "orc"
# The pieces of a SQL text: what stands in quotes, and what does not.
_PIECES = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|[^'\"]+", re.DOTALL)


@dataclass(frozen=True)
class Part:
    """A column of the key, or an expression of the sequence.

    Attributes:
        text: the column's name, or the expression's SQL.
        type: Spark's name of its type.
    """

    text: str
    type: str

    @classmethod
    def of(cls, text: str, kind: str) -> Part:
        """A part with a Hive or Spark type; all types of text count as one."""
        return cls(text, unsized(kind))

    def united(self, other: Part) -> Part | None:
        """This part in the wider of both types; ``None`` where neither holds the other."""
        if self.type == other.type or is_wider(self.type, other.type):
            return self
        return dataclasses.replace(self, type=other.type) if is_wider(other.type, self.type) else None

    def __str__(self) -> str:
        return f"{self.text} ({self.type})"


@dataclass(frozen=True)
class LedgerPurpose:
    """What a ledger is for.

    Attributes:
        keys: the key's columns, in the order of ``__key_1``, ``__key_2``…
        sequence: the expressions of the sequence, in their order.
        history: the columns that the merge gives the table to keep history in; empty where it keeps none.
        shown: whether the table itself shows the sequences of its rows, so that the ledger lacks them.
        named: whether the texts of a model have to equal these. They need not if these are only the names of the
            ledger's own columns, or if the next merge may set other texts.
    """

    keys: tuple[Part, ...]
    sequence: tuple[Part, ...]
    history: tuple[str, ...] = ()
    shown: bool = True
    named: bool = True

    @classmethod
    def of_record(cls, record: Mapping[str, Any]) -> LedgerPurpose:
        """The purpose that a manifest records."""
        keys, sequence = (
            tuple(Part.of(str(part["expression"]), str(part["type"])) for part in record[name])
            for name in ("key", "sequence")
        )
        return cls(keys, sequence, tuple(record["history"]), bool(record["shown"]), bool(record["named"]))

    @property
    def record(self) -> dict[str, Any]:
        """The purpose as a manifest records it."""
        key, sequence = (
            [{"expression": part.text, "type": part.type} for part in parts]
            for parts in (self.keys, self.sequence)
        )
        more = {"history": list(self.history), "shown": self.shown, "named": self.named}
        return {"key": key, "sequence": sequence, **more}

    @classmethod
    def of_files(cls, schema: StructType) -> LedgerPurpose:
        """The purpose as far as a ledger's columns show it, for a ledger whose purpose no manifest records."""
        types = {field.name: field.dataType for field in schema.fields}
        keys = [
            Part.of(name, kind.simpleString()) for name, kind in types.items() if name.startswith("__key_")
        ]
        kind = types["__sequence"]
        parts = kind.fields if isinstance(kind, StructType) else [schema["__sequence"]]
        sequence = [Part.of(part.name, part.dataType.simpleString()) for part in parts]
        return cls(tuple(keys), tuple(sequence), named=False)

    @property
    def columns(self) -> str:
        """The ledger's columns of keys and sequence, as DDL."""
        keys = [f"__key_{number} {key.type}" for number, key in enumerate(self.keys, 1)]
        return ", ".join([*keys, f"__sequence {self.sequence_type}"])

    @property
    def sequence_type(self) -> str:
        """Spark's type of a sequence: that of its only part, or a struct."""
        types = [part.type for part in self.sequence]
        members = ", ".join(f"part_{number}: {kind}" for number, kind in enumerate(types, 1))
        return types[0] if len(types) == 1 else f"struct<{members}>"

    def compatible_with(self, known: LedgerPurpose, spark: SparkSession) -> LedgerPurpose | None:
        """This purpose, in types that hold what a ledger of another one has; ``None`` if they are not the same."""
        if known.named and not self._is_named_as(known, spark):
            return None
        keys, sequence = _united(self.keys, known.keys), _united(self.sequence, known.sequence)
        if keys is None or sequence is None:
            return None
        return dataclasses.replace(self, keys=keys, sequence=sequence)

    def fits_but_for_names(self, known: LedgerPurpose, spark: SparkSession) -> bool:
        """Whether a ledger of another purpose can be read for this one, if only names have changed."""
        return self.compatible_with(dataclasses.replace(known, named=False), spark) is not None

    def _is_named_as(self, known: LedgerPurpose, spark: SparkSession) -> bool:
        same_key = [key.text for key in self.keys] == [key.text for key in known.keys]
        return same_key and self.has_sequence_of(known, spark)

    def has_sequence_of(self, known: LedgerPurpose, spark: SparkSession) -> bool:
        """Whether it orders changes by the same expressions."""
        return len(self.sequence) == len(known.sequence) and all(
            same_sql(spark, mine.text, other.text)
            for mine, other in zip(self.sequence, known.sequence, strict=True)
        )

    def __str__(self) -> str:
        keys, sequence = (", ".join(map(str, parts)) for parts in (self.keys, self.sequence))
        return f"unique_key {keys} and sequence_by {sequence}"


def _united(mine: Sequence[Part], others: Sequence[Part]) -> tuple[Part, ...] | None:
    if len(mine) != len(others):
        return None
    parts = [one.united(other) for one, other in zip(mine, others, strict=True)]
    return None if None in parts else tuple(part for part in parts if part is not None)


def sequence_types(kind: str, parts: int) -> list[str]:
    """The types of a sequence's parts, by the type of the whole: that of the only one, or a struct."""
    if parts == 1:
        return [kind]
    whole = spark_type(kind)
    assert isinstance(whole, StructType)
    return [field.dataType.simpleString() for field in whole.fields]


def key_order(keys: Sequence[str], record: Mapping[str, Any] | None) -> tuple[str, ...]:
    """A key's columns in the order in which the ledger has them, if it is for the same ones."""
    known = [str(part["expression"]) for part in record["key"]] if record else []
    return tuple(known if sorted(known) == sorted(keys) else keys)


def agreed_purpose(
    wanted: LedgerPurpose,
    record: Mapping[str, Any] | None,
    paths: Sequence[str],
    spark: SparkSession,
    table: str,
) -> LedgerPurpose:
    """What the ledger is for after a merge for this purpose, in types that hold what it has already.

    Args:
        record: what the manifest says; ``None`` if it says nothing, as that of an earlier version.
        paths: the ledger's folders.

    Raises:
        LedgerMismatch: the ledger is for something else, or would need sequences that so far only the table shows.
        InvalidConfig: the table keeps history in other columns, or keeps none.
    """
    known = LedgerPurpose.of_record(record) if record else None
    if known is not None and known.history != wanted.history:
        raise _other_history(known.history, wanted, table)
    if (
        known is not None
        and known.named
        and known.shown
        and not wanted.shown
        and wanted.has_sequence_of(known, spark)
    ):
        raise _hidden(wanted, table)
    if not paths:
        return wanted
    if known is None:
        schema = spark.read.format(_FORMAT_OF_OLD).load(list(paths)).schema
        if (_ROW in schema.names) != bool(wanted.history):
            raise _other_history(("columns of its own",) if _ROW in schema.names else (), wanted, table)
        known = LedgerPurpose.of_files(schema)
    agreed = wanted.compatible_with(known, spark)
    if agreed is None:
        raise _mismatch(wanted, known, spark, table)
    if not known.named:
        _LOG.info(f"{table}: its ledger does not say what it is for, and is taken to be for {wanted}.")
    return agreed


def _told(history: Sequence[str]) -> str:
    return f"history in {', '.join(history)}" if history else "no history"


def _other_history(known: Sequence[str], wanted: LedgerPurpose, table: str) -> InvalidConfig:
    return InvalidConfig(
        expected=f"a model that keeps {_told(known)}, as {table} does",
        found=f"one that keeps {_told(wanted.history)}",
        action="Set stored_as_scd_type, bitemporal, history_column_names and history_partition back, or run with "
        "--full-refresh to rebuild the table.",
    )


def _mismatch(wanted: LedgerPurpose, known: LedgerPurpose, spark: SparkSession, table: str) -> LedgerMismatch:
    keep = ""
    if wanted.fits_but_for_names(known, spark):
        keep = (
            f" If only names have changed, and it holds for the new ones: {_command(table, ', keep: true')}."
        )
    return LedgerMismatch(
        expected=f"the ledger of {table}, which remembers deletes, to be for {wanted}",
        found=f"one for {known}",
        action="Set the options back, or run with --full-refresh to rebuild the table."
        f"{keep} To go on with the table's rows and forget the ledger: {_command(table)}.",
    )


def _hidden(wanted: LedgerPurpose, table: str) -> LedgerMismatch:
    return LedgerMismatch(
        expected=f"the model to go on storing {', '.join(map(str, wanted.sequence))} in {table}, by which late changes "
        "are known",
        found="that it does not, so that late changes would replace the rows that are there",
        action="Let the columns of sequence_by reach the table and be updated by each change, or run with "
        f"--full-refresh. To go on all the same: {_command(table, ', keep: true')}.",
    )


def _command(table: str, more: str = "") -> str:
    return f"dbt run-operation lakemerge_reset_ledger --args '{{table: {table}{more}}}'"


def same_sql(spark: SparkSession, one: str, other: str) -> bool:
    """Whether two expressions differ in nothing but spaces, comments and the case of names."""
    return one == other or _plain(spark, one) == _plain(spark, other)


def _plain(spark: SparkSession, sql: str) -> str:
    parser = spark._jsparkSession.sessionState().sqlParser()
    text = parser.parseExpression(sql).sql()
    return "".join(piece if piece[0] in "'\"" else piece.lower() for piece in _PIECES.findall(text))


def commit_purpose(transaction: NodeTransaction, wanted: LedgerPurpose | None) -> LedgerPurpose | None:
    """Record that a commit's ledger is for this purpose (``None``: it has no ledger), if the existing one is, too.

    Raises:
        LedgerMismatch: the existing ledger was made for another purpose.
    """
    if wanted is None:
        return None
    record = transaction.base.side_data_for.get(LEDGER) if transaction.base else None
    table = str(transaction.kernel_transaction.name)
    agreed = agreed_purpose(wanted, record, transaction.side_data.folders(LEDGER), transaction.spark, table)
    _describe(transaction, agreed, _stored_format(transaction) or transaction.file_format)
    return agreed


def _describe(transaction: NodeTransaction, purpose: LedgerPurpose, file_format: str) -> None:
    """Record what the ledger is for, and the format of its files.

    Files keep times as the table does: in Parquet as instants, in ORC as what the clocks of Java's time zone showed. In
    the other format, a move to another zone would change the order of the ledger's changes and the table's rows.
    """
    transaction.kernel_transaction.describe_side_data(LEDGER, {**purpose.record, "format": file_format})


def _stored_format(transaction: NodeTransaction) -> str:
    """The format of the ledger that the transaction adds to; empty where there is none."""
    if not transaction.base or not transaction.side_data.folders(LEDGER):
        return ""
    return str(transaction.base.side_data_for.get(LEDGER, {}).get("format", _FORMAT_OF_OLD))


def open_ledger(
    transaction: NodeTransaction, schema: str, retention: timedelta, types: Mapping[str, str]
) -> Amount | None:
    """Make the view ``lakemerge_ledger`` of the sequences and tombstones kept.

    Args:
        schema: the ledger's columns as DDL.
        retention: how long a delete is remembered.
        types: the Hive types of the table's columns in it, by their names there: an old ledger has no blanks in a
            ``char(n)``.

    Returns:
        How much there is to read; ``None``, and no view, if nothing is kept.
    """
    folders = transaction.side_data.folders(LEDGER)
    if not folders:
        return None
    seconds = int(retention.total_seconds())
    past = f"__recorded_at < current_timestamp() - interval {seconds} seconds"
    expired = f"__kind not in ('truncate', 'live', 'settled') and {past} as __is_expired"
    spark, file_format = transaction.spark, _stored_format(transaction)
    files = spark.read.schema(schema).format(file_format).load(folders)
    columns = [f"{padded(name, types.get(name, ''))} as {name}" for name in files.columns]
    rows = files.selectExpr(*columns)
    if file_format == "orc":
        rows = rows.withColumn(_RECORDED_AT, functions.from_utc_timestamp(_RECORDED_AT, java_zone(spark)))
    kept = rows.selectExpr("*", expired).where("__kind <> 'delete' or not __is_expired")
    kept.createOrReplaceTempView("lakemerge_ledger")
    location = files._jdf.queryExecution().analyzed().relation().location()
    return Amount(len(location.inputFiles()), location.sizeInBytes())


def write_ledger(transaction: NodeTransaction, sql: str, purpose: LedgerPurpose, *, anew: bool) -> None:
    """Write a query's rows to the ledger: beside what it holds, or in the place of all of it."""
    rows, stored = run_sql(transaction.spark, sql), _stored_format(transaction)
    file_format = transaction.file_format if anew or not stored else stored
    if file_format == "orc":
        # what UTC's clocks showed, so that retention is counted in the same way in every zone
        rows = rows.withColumn(
            _RECORDED_AT, functions.to_utc_timestamp(_RECORDED_AT, java_zone(transaction.spark))
        )
    if anew:
        _describe(transaction, purpose, file_format)
        transaction.side_data.replace(LEDGER, rows.hint("rebalance"), file_format=file_format)
    else:
        transaction.side_data.add(LEDGER, rows.coalesce(1), file_format=file_format)


def reset_ledger(kernel: Kernel, name: TableName, *, keep: bool) -> int:
    """Forget a table's ledger by a commit of its own, or only what the ledger is for.

    Args:
        keep: keep the ledger, and let the next merge say what it is for.

    Returns:
        The version that was made; 0 where nothing is known of the table's keys.
    """
    return kernel.retried(
        lambda: _reset(kernel, name, keep), CommitConflict, first=0.1, longest=2, attempts=10
    )


def _reset(kernel: Kernel, name: TableName, keep: bool) -> int:
    with kernel.begin(name, LEDGER_RESET) as transaction:
        base = transaction.base
        folders = base.sidecars.get(LEDGER, ()) if base else ()
        record = base.side_data_for.get(LEDGER) if base else None
        if not folders and not record:
            return 0
        # the columns of a history are the table's, not the ledger's, so they stay recorded
        transaction.describe_side_data(LEDGER, record and {**record, "named": False})
        kept = [transaction.layout.absolute(folder) for folder in folders] if keep else []
        transaction.set_sidecars(LEDGER, kept)
        return transaction.commit()
