"""How a feed meets a table in a merge: the facts that the merge's SQL is made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from lakemerge.engine.merge.expressions import check_expressions
from lakemerge.engine.merge.ledger import LEDGER, LedgerPurpose, Part, key_order
from lakemerge.engine.merge.merge_options import MergeConfig
from lakemerge.engine.merge.sequences import (
    SequenceZones,
    order_of,
    sequence_metrics,
    sequence_order,
    types_of_sequence,
)
from lakemerge.engine.merge.unavailable import unavailable_sql
from lakemerge.engine.relations.conditions import any_of
from lakemerge.engine.relations.hash_inputs import hash_inputs
from lakemerge.engine.relations.sized_text import padded
from lakemerge.engine.relations.table_schema import (
    ColumnPlan,
    SchemaPlan,
    comparable,
    spark_type,
)
from lakemerge.engine.spark.releases import is_null_of_null
from lakemerge.errors import InvalidConfig
from lakemerge.kernel import Manifest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class MergeColumn:
    """A column of the table in a merge.

    Attributes:
        mode: what a matched row gets. ``set``: the change's value; ``coalesce``: that value unless it is null;
            ``keep``: the stored value.
        comparable: SQL template of a form that can be compared, with ``{}`` for the value.
        unavailable: SQL template that is true for a value that the change does not bring; empty where there is none.
        hash_inputs: SQL template of a hash's arguments that tell values apart; see :func:`hash_inputs`.
    """

    plan: ColumnPlan
    mode: Literal["set", "coalesce", "keep"]
    comparable: str
    hash_inputs: str = "{} is null, {}"
    unavailable: str = ""

    @property
    def name(self) -> str:
        return self.plan.name

    @property
    def quoted(self) -> str:
        return self.plan.quoted

    @property
    def from_feed(self) -> str:
        """SQL over the typed feed. An empty string in a partition column is null, as Hive has it.

        Otherwise a change that is delivered again would not be recognized.
        """
        if not self.plan.in_feed:
            return self.plan.from_feed
        empty_is_null = self.plan.is_partition and self.plan.type.startswith(("string", "varchar"))
        return f"nullif({self.quoted}, '')" if empty_is_null else self.quoted

    @property
    def is_comparable(self) -> bool:
        """Whether its values can be compared as they are."""
        return self.comparable == "{}"

    def compared(self, prefix: str) -> str:
        """The comparable form of ``prefix.column``."""
        return self.comparable.replace("{}", f"{prefix}.{self.quoted}")

    def stored(self, prefix: str) -> str:
        """The comparable form of ``prefix.column`` where that is a stored row as it is."""
        return padded(self.compared(prefix), self.plan.type)

    def hashed(self, prefix: str) -> str:
        """The arguments of a hash that tell values of ``prefix.column`` apart."""
        return self.hash_inputs.replace("{}", f"{prefix}.{self.quoted}")

    def is_unavailable(self, prefix: str) -> str:
        """SQL that is true where the change ``prefix`` does not bring this column."""
        return self.unavailable.replace("{}", f"{prefix}.{self.quoted}")


@dataclass(frozen=True)
class MergePlan:
    """Everything that the merge's macros need to know.

    Attributes:
        keys: the key's columns, in the order in which the ledger has them.
        sequence: SQL over the typed feed; empty for none.
        null_sequence: SQL that is true where a part of the sequence is null.
        stored_sequence: SQL over the stored rows; empty where the table does not hold the sequence.
        mixes_sequences: whether a stored row may give another sequence than its newest change, because that change
            left out a column of the sequence.
        ledger: what the merge's ledger is for; ``None`` without a sequence.
        change_order: SQL over the typed feed that orders changes of one sequence; empty for none.
        partition_known: whether a key's partition follows from the change.
        sequence_metrics: aggregates over the latest changes, ``min_sequence`` and ``max_sequence`` as texts; empty
            for sequences that have no exact text.
        sequence_order: how texts of sequences are ordered; empty for sequences that have none.
        sequence_zones: the time zones by which the table shows its rows' sequences.
        known_sequences: texts of sequences of which one is the highest that the table has met; empty for a table
            that has met none, ``None`` where it is not known.
    """

    table: str
    exists: bool
    keys: tuple[MergeColumn, ...]
    columns: tuple[MergeColumn, ...]
    partitions: tuple[MergeColumn, ...]
    sequence: str
    null_sequence: str
    stored_sequence: str
    deletes: str
    truncates: str
    predicates: tuple[str, ...]
    syncs: bool
    partition_known: bool
    sequence_metrics: Mapping[str, str] = field(default_factory=dict)
    sequence_order: str = ""
    sequence_zones: SequenceZones = field(default_factory=SequenceZones)
    known_sequences: tuple[str, ...] | None = None
    mixes_sequences: bool = False
    ledger: LedgerPurpose | None = None
    change_order: str = ""

    @property
    def ledger_type(self) -> str:
        """The schema of the ledger: see the page on the table format."""
        assert self.ledger is not None
        return f"{self.ledger.columns}, __kind string, __recorded_at timestamp"

    @property
    def key_types(self) -> dict[str, str]:
        """The Hive types of the internal key columns."""
        return {f"__key_{number}": key.plan.type for number, key in enumerate(self.keys, 1)}

    @property
    def values(self) -> tuple[MergeColumn, ...]:
        """The columns in which rows of one key can differ."""
        return tuple(column for column in self.columns if column not in self.keys)

    @property
    def partial(self) -> bool:
        """Whether an update leaves something of the stored row, so that the latest change alone is not enough."""
        return any(column.mode != "set" or column.unavailable for column in self.columns)

    @property
    def unavailable(self) -> str:
        """SQL that is true for a change that does not bring all columns; empty where all changes do."""
        terms = [column.is_unavailable("__row") for column in self.columns if column.unavailable]
        return any_of(terms) if terms else ""

    @property
    def needs_stored_row(self) -> bool:
        return self.exists and (self.partial or not self.sequence)

    @property
    def keeps_live_sequences(self) -> bool:
        """Whether the ledger has to hold the sequences of live rows, because the table does not, or not for sure."""
        return bool(self.sequence) and (not self.stored_sequence or self.mixes_sequences)

    @classmethod
    def make(
        cls, config: MergeConfig, plan: SchemaPlan, feed: DataFrame, base: Manifest | None, table: str
    ) -> MergePlan:
        """Plan a merge.

        Args:
            base: the version that is merged into; ``None`` when the table is made or replaced.

        Raises:
            InvalidConfig: an option names a column that is not there, or is SQL that Spark cannot read.
        """
        columns = tuple(_merge_column(config, column) for column in plan.columns)
        by_name = {column.name: column for column in columns}
        _require(by_name, config)
        if not config.keeps_history:  # a history's columns depend on these, so they were checked before
            check_expressions(config, feed)
        keys = tuple(by_name[name] for name in _keys(config, base))
        partitions = tuple(column for column in columns if column.plan.is_partition)
        key_names = {key.name for key in keys}
        stored_sequence = _stored_sequence(config, feed, columns)
        types = types_of_sequence(config, feed)
        file_format = base.file_format if base else config.file_format
        zones = SequenceZones.of(config.sequence_by, types, plan.columns, file_format, feed.sparkSession)
        return cls(
            table=table,
            exists=base is not None,
            keys=keys,
            columns=columns,
            partitions=partitions,
            sequence=config.sequence,
            null_sequence=config.null_sequence,
            stored_sequence=stored_sequence,
            deletes=config.apply_as_deletes or "false",
            truncates=config.apply_as_truncates or "false",
            predicates=config.incremental_predicates,
            syncs=config.sync == "full",
            partition_known=bool(partitions)
            and (not config.partition_moves or {column.name for column in partitions} <= key_names),
            sequence_metrics=sequence_metrics(types),
            sequence_order=sequence_order(types),
            sequence_zones=zones,
            known_sequences=_known_sequences(config, base, sequence_order(types), zones),
            mixes_sequences=bool(stored_sequence)
            and config.ignore_null_updates
            and any(_hides_nulls(feed, part) for part in config.sequence_by),
            ledger=_ledger(config, keys, types, shown=bool(stored_sequence)),
            change_order=config.change_order,
        )

    def is_above_all_known(self, lowest: str | None) -> bool:
        """Whether a sequence (as text) is above every one that the table has met."""
        if lowest is None or not self.known_sequences:
            return False
        return all(order_of(lowest) > order_of(known) for known in self.known_sequences)

    def highest_sequence(self, highest: str | None) -> str | None:
        """The highest sequence that the table has met with this one, for its manifest; ``None`` if it is not known."""
        if self.known_sequences is None or not self.sequence_metrics:
            return None
        met = [*self.known_sequences, *([highest] if highest else [])]
        return self.sequence_zones.text(max(met, key=order_of)) if met else None


def _keys(config: MergeConfig, base: Manifest | None) -> tuple[str, ...]:
    return key_order(config.unique_key, base.side_data_for.get(LEDGER) if base else None)


def _ledger(
    config: MergeConfig, keys: tuple[MergeColumn, ...], types: list[str], *, shown: bool
) -> LedgerPurpose | None:
    if not types:
        return None
    sequence = zip(config.sequence_by, types, strict=True)
    return LedgerPurpose(
        tuple(Part.of(key.name, key.plan.type) for key in keys),
        tuple(Part.of(text, kind) for text, kind in sequence),
        shown=shown,
    )


def _merge_column(config: MergeConfig, column: ColumnPlan) -> MergeColumn:
    is_key = column.name in config.unique_key
    mode: Literal["set", "coalesce", "keep"] = "set"
    if not column.in_feed or (not is_key and not config.updates(column.name)):
        mode = "keep"
    elif config.ignore_null_updates and not is_key:
        mode = "coalesce"
    kind = spark_type(column.type)
    placeholder = "" if is_key or column.is_partition or mode == "keep" else config.unavailable_value
    unavailable = unavailable_sql("{}", kind, placeholder) if placeholder else ""
    inputs = ", ".join(hash_inputs("{}", kind))
    return MergeColumn(column, mode, comparable("{}", kind), inputs, unavailable)


def _require(columns: dict[str, MergeColumn], config: MergeConfig) -> None:
    feed = {name for name, column in columns.items() if column.plan.in_feed}
    wanted = {
        "unique_key": config.unique_key,
        "merge_update_columns": config.merge_update_columns,
        "merge_exclude_columns": config.merge_exclude_columns,
    }
    missing = [
        f"{option} {name}" for option, names in wanted.items() for name in names if name.lower() not in feed
    ]
    if missing:
        raise InvalidConfig(
            expected=f"columns of the model and its table ({', '.join(sorted(feed))})",
            found=", ".join(missing),
            action="Correct the option, or let the model select the column.",
        )


def _stored_sequence(config: MergeConfig, feed: DataFrame, columns: tuple[MergeColumn, ...]) -> str:
    """The sequence over stored rows, if they hold all of it and every change updates all of it.

    A history has sequences in columns of its own.
    """
    if not config.sequence or config.keeps_history:
        return ""
    held = {column.name for column in columns if column.plan.in_feed and column.mode != "keep"}
    # looked up instead of tried on stored rows: pyspark logs each query that fails, with its stack trace
    read = feed.selectExpr(config.sequence)._jdf.queryExecution().analyzed().references().toSeq()
    names = {str(read.apply(place).name()).lower() for place in range(read.size())}
    return config.sequence if names <= held else ""


def _hides_nulls(feed: DataFrame, expression: str) -> bool:
    """Whether an expression may have a value although a column that it reads is null, as ``coalesce`` may.

    True also for an expression that Spark does not know well enough.
    """
    analyzed = feed.selectExpr(expression)._jdf.queryExecution().analyzed()
    nodes = [analyzed.expressions().apply(0)]
    while nodes:
        node = nodes.pop()
        children = [node.children().apply(i) for i in range(node.children().size())]
        if children and node.prettyName() != "alias" and not is_null_of_null(node):
            return True
        nodes += children
    return False


def _known_sequences(
    config: MergeConfig, base: Manifest | None, order: str, zones: SequenceZones
) -> tuple[str, ...] | None:
    if base is None:
        return ()
    known = base.properties
    # earlier versions did not record the order
    if (
        not order
        or known.get("sequence_by") != config.sequence
        or known.get("sequence_order", order) != order
    ):
        return None
    texts = [zones.read(text, order) for text in known.get("max_sequence") or ()]
    return None if None in texts or not texts else tuple(text for text in texts if text is not None)
