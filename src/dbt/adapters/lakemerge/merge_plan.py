"""How a feed meets a table in a merge: the facts that the merge's SQL is made from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from dbt.adapters.lakemerge.table_schema import ColumnPlan, SchemaPlan, comparable, literal, spark_type
from dbt.adapters.lakemerge.write_config import WriteConfig

from lakemerge.errors import InvalidConfig
from lakemerge.kernel.manifest import Manifest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# Keys above this number are left to Spark's own choice of join: a broadcast of more takes gigabytes.
BROADCAST_KEYS = 5_000_000


@dataclass(frozen=True)
class MergeColumn:
    """A column of the table in a merge.

    Attributes:
        mode: what a matched row gets: ``set`` the change's value, ``coalesce`` it unless it is null,
            ``keep`` the stored one.
        comparable: SQL template of a form that can be compared and hashed, with ``{}`` for the value.
    """

    plan: ColumnPlan
    mode: Literal["set", "coalesce", "keep"]
    comparable: str

    @property
    def name(self) -> str:
        return self.plan.name

    @property
    def quoted(self) -> str:
        return self.plan.quoted

    def compared(self, prefix: str) -> str:
        """The comparable form of ``prefix.column``."""
        return self.comparable.replace("{}", f"{prefix}.{self.quoted}")


@dataclass(frozen=True)
class MergePlan:
    """Everything that the merge's macros need to know.

    Attributes:
        keys: the key's columns.
        sequence: SQL over the typed feed; empty for none.
        null_sequence: SQL that is true where a part of the sequence is null.
        stored_sequence: SQL over the stored rows; empty where the table does not hold the sequence.
        partition_known: whether a key's partition follows from the change.
        sequence_metrics: aggregates over the latest changes: ``max_sequence``, the highest sequence that the table
            has met, as text; ``is_ahead``, whether all changes are above the one before. Empty where not known.
        folds: whether several changes of a key are combined column by column.
        needs_stored_row: whether matched rows are read whole.
    """

    table: str
    exists: bool
    keys: tuple[MergeColumn, ...]
    columns: tuple[MergeColumn, ...]
    partitions: tuple[MergeColumn, ...]
    feed_columns: tuple[str, ...]
    sequence: str
    null_sequence: str
    stored_sequence: str
    deletes: str
    truncates: str
    predicates: tuple[str, ...]
    syncs: bool
    partition_known: bool
    sequence_metrics: Mapping[str, str] = field(default_factory=dict)

    @property
    def folds(self) -> bool:
        return any(column.mode == "coalesce" or self._kept_from_feed(column) for column in self.columns)

    @staticmethod
    def _kept_from_feed(column: MergeColumn) -> bool:
        return column.mode == "keep" and column.plan.in_feed

    @property
    def partial(self) -> bool:
        return any(column.mode != "set" for column in self.columns)

    @property
    def needs_stored_row(self) -> bool:
        return self.exists and (self.partial or not self.sequence)

    @property
    def keeps_live_sequences(self) -> bool:
        """Whether the ledger has to hold the sequences of live rows, for the table does not."""
        return bool(self.sequence) and not self.stored_sequence

    @classmethod
    def make(
        cls, config: WriteConfig, plan: SchemaPlan, feed: DataFrame, base: Manifest | None, table: str
    ) -> MergePlan:
        """Plan a merge.

        Args:
            base: the version that is merged into; ``None`` when the table is made or replaced.

        Raises:
            InvalidConfig: an option names a column that is not there.
        """
        columns = tuple(_merge_column(config, column) for column in plan.columns)
        by_name = {column.name: column for column in columns}
        _require(by_name, config)
        keys = tuple(by_name[name] for name in config.unique_key)
        partitions = tuple(column for column in columns if column.plan.is_partition)
        key_names = {key.name for key in keys}
        return cls(
            table=table,
            exists=base is not None,
            keys=keys,
            columns=columns,
            partitions=partitions,
            feed_columns=tuple(f"`{name}`" for name in feed.columns if name.lower() not in by_name),
            sequence=config.sequence,
            null_sequence=config.null_sequence,
            stored_sequence=_stored_sequence(config, feed, columns),
            deletes=config.apply_as_deletes or "false",
            truncates=config.apply_as_truncates or "false",
            predicates=config.incremental_predicates,
            syncs=config.sync == "full",
            partition_known=bool(partitions)
            and (not config.partition_moves or {column.name for column in partitions} <= key_names),
            sequence_metrics=_sequence_metrics(config, feed, base),
        )


def _merge_column(config: WriteConfig, column: ColumnPlan) -> MergeColumn:
    is_key = column.name in config.unique_key
    mode: Literal["set", "coalesce", "keep"] = "set"
    if not column.in_feed or (not is_key and not config.updates(column.name)):
        mode = "keep"
    elif config.ignore_null_updates and not is_key:
        mode = "coalesce"
    kind = spark_type(column.type)
    return MergeColumn(column, mode, comparable("{}", kind))


def _require(columns: dict[str, MergeColumn], config: WriteConfig) -> None:
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


def _stored_sequence(config: WriteConfig, feed: DataFrame, columns: tuple[MergeColumn, ...]) -> str:
    """The sequence over stored rows, if they hold all of it and every change updates all of it."""
    from pyspark.errors import AnalysisException

    if not config.sequence:
        return ""
    held = [column for column in columns if column.plan.in_feed and column.mode != "keep"]
    try:
        feed.select(*(column.quoted for column in held)).selectExpr(config.sequence)
    except AnalysisException:
        return ""
    return config.sequence


# Types whose values have an exact text; the maximum of others is not kept.
_EXACT = ("tinyint", "smallint", "int", "bigint", "string", "date", "timestamp")


def _sequence_metrics(config: WriteConfig, feed: DataFrame, base: Manifest | None) -> Mapping[str, str]:
    """See :attr:`MergePlan.sequence_metrics`."""
    if not config.sequence:
        return {}
    types = [field.dataType.simpleString() for field in feed.selectExpr(*config.sequence_by).schema.fields]
    if any(kind not in _EXACT and not kind.startswith("decimal") for kind in types):
        return {}
    if base is None:
        return {"max_sequence": _encoded("max(__sequence)", types)}
    known = base.properties.get("max_sequence") or []
    if not known or base.properties.get("sequence_by") != config.sequence:
        return {}
    before = [_decoded(text, types) for text in known]
    highest = f"greatest({', '.join(before)})" if len(before) > 1 else before[0]
    return {
        "max_sequence": _encoded(f"greatest(max(__sequence), {highest})", types),
        "is_ahead": f"coalesce(min(__sequence) > {highest}, false)",
    }


def _encoded(value: str, types: list[str]) -> str:
    """SQL for the text of a sequence: a JSON array of its parts' texts."""
    parts = [f"{value}.part_{i}" for i in range(1, len(types) + 1)] if len(types) > 1 else [value]
    texts = [
        f"cast({'unix_micros(' + part + ')' if kind == 'timestamp' else part} as string)"
        for part, kind in zip(parts, types, strict=True)
    ]
    return f"if({value} is null, null, to_json(array({', '.join(texts)})))"


def _decoded(text: str, types: list[str]) -> str:
    """SQL for the sequence that a text of :func:`_encoded` stands for."""
    parts = [
        f"timestamp_micros(cast({literal(part)} as bigint))"
        if kind == "timestamp"
        else f"cast({literal(part)} as {kind})"
        for part, kind in zip(json.loads(text), types, strict=True)
    ]
    if len(parts) == 1:
        return parts[0]
    members = ", ".join(f"{part} as part_{i}" for i, part in enumerate(parts, 1))
    return f"struct({members})"
