"""Between Spark's types and the metastore's: names, casts, comparisons, and how a schema may change."""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import types as spark_types
from pyspark.sql.types import DataType, StructField, StructType

from lakemerge.engine.relations.hive_types import hive_columns, hive_type
from lakemerge.engine.relations.nested_types import cast_by_name, evolved, misfits, rewritten, same_type
from lakemerge.engine.relations.sized_text import fitted, padded, unsized
from lakemerge.engine.spark.releases import type_of_ddl
from lakemerge.engine.sql_text import quote
from lakemerge.errors import IncompatibleColumn
from lakemerge.kernel import DELTA_NAME, HiveColumn

# Types by width: each can be stored without loss in those to its right.
_INTEGERS: tuple[type[DataType], ...] = (
    spark_types.ByteType,
    spark_types.ShortType,
    spark_types.IntegerType,
    spark_types.LongType,
)
# Names that our SQL gives to columns beside those of a table.
_OURS = re.compile(rf"__?lakemerge_|{DELTA_NAME}$", re.IGNORECASE)
_INTEGER_DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 20}


def comparable(expression: str, kind: DataType) -> str:
    """The expression in a form that ``=``, ``<=>`` and hashes accept: maps become sorted entries."""
    return rewritten(expression, kind, _sorted_entries)


def _sorted_entries(value: str, kind: DataType) -> str | None:
    if not isinstance(kind, spark_types.MapType):
        return None
    key, item = comparable("entry.key", kind.keyType), comparable("entry.value", kind.valueType)
    entries = f"map_entries({value})"
    return f"array_sort(transform({entries}, entry -> struct({key} as key, {item} as value)))"


def stores_losslessly(source: DataType, target: DataType, *, may_add: bool = False) -> bool:
    """Whether every value of one type can be stored in the other unchanged.

    Args:
        may_add: whether structs in the other type may have fields that those in the first one lack.
    """
    return not any(misfits(source, target, "", _misfit, may_add=may_add))


def misfits_of(source: DataType, target: DataType, name: str) -> list[str]:
    """Why not every value of a column's type can be stored in another one; each with its path."""
    return list(misfits(source, target, name, _misfit))


def _misfit(source: DataType, target: DataType) -> str | None:
    """What is wrong with storing one type in another one that is not nested in the same way."""
    if isinstance(target, spark_types.StringType | spark_types.CharType | spark_types.VarcharType):
        fits = not isinstance(
            source, spark_types.ArrayType | spark_types.MapType | StructType | spark_types.BinaryType
        )
    elif isinstance(source, spark_types.NullType):
        fits = True
    else:
        same = type(source) is type(target) and not isinstance(source, spark_types.DecimalType)
        fits = same or _widens(source, target)
    return None if fits else f"{source.simpleString()} into {target.simpleString()}"


def _widens(source: DataType, target: DataType) -> bool:
    if isinstance(target, spark_types.VarcharType):
        return (
            isinstance(source, spark_types.VarcharType | spark_types.CharType)
            and source.length < target.length
        )
    if isinstance(target, spark_types.DecimalType):
        whole = target.precision - target.scale
        if isinstance(source, spark_types.DecimalType):
            return source.precision - source.scale <= whole and source.scale <= target.scale
        return _INTEGER_DIGITS.get(source.simpleString(), 99) <= whole
    if isinstance(target, spark_types.TimestampType):
        return isinstance(source, spark_types.DateType | spark_types.TimestampNTZType)
    if isinstance(target, spark_types.DoubleType):
        return isinstance(source, (spark_types.FloatType, *_INTEGERS[:3]))
    if isinstance(target, spark_types.FloatType):
        return isinstance(source, _INTEGERS[:2])
    if isinstance(target, _INTEGERS):
        return isinstance(source, _INTEGERS[: _INTEGERS.index(type(target)) + 1])
    return False


@dataclass(frozen=True)
class ColumnPlan:
    """One column of the table that a commit writes.

    Attributes:
        type: its Hive type, which is also its Spark type.
        in_feed: whether the model's query selects it.
        in_table: whether the stored rows have it, with this type or another.
        is_partition: whether the table is partitioned by it.
        feed_type, stored_type: its type in the feed and in the stored rows, where that is another one.
    """

    name: str
    type: str
    in_feed: bool
    in_table: bool
    is_partition: bool = False
    feed_type: DataType | None = None
    stored_type: DataType | None = None

    @property
    def quoted(self) -> str:
        return quote(self.name)

    @property
    def from_feed(self) -> str:
        """SQL over the feed. A text that is too long for the column fails the query; see :func:`as_too_long`."""
        value = self._cast(self.in_feed, self.feed_type)
        return fitted(value, self.type, self.name) if self.in_feed else value

    @property
    def from_table(self) -> str:
        """SQL over the stored rows."""
        value = self._cast(self.in_table, self.stored_type)
        return padded(value, self.type) if self.in_table else value

    def _cast(self, is_there: bool, found: DataType | None) -> str:
        if is_there and found is not None and is_nested(self.type):
            return cast_by_name(self.quoted, found, spark_type(unsized(self.type)))
        return f"cast({self.quoted if is_there else 'null'} as {self.type})"


@dataclass(frozen=True)
class SchemaPlan:
    """The columns that a commit gives the table, data columns first.

    Attributes:
        rewrites_all: whether stored files no longer fit, so that every partition has to be rewritten.
        spelling: the names of new columns as the feed spells them, by their names in lower case.
    """

    columns: tuple[ColumnPlan, ...]
    rewrites_all: bool = False
    spelling: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @property
    def data(self) -> tuple[HiveColumn, ...]:
        return tuple(HiveColumn(c.name, c.type) for c in self.columns if not c.is_partition)

    @property
    def partitions(self) -> tuple[HiveColumn, ...]:
        return tuple(HiveColumn(c.name, c.type) for c in self.columns if c.is_partition)


def check_names(names: Iterable[str]) -> None:
    """Refuse columns that have names of ours: all that our SQL puts beside a table's columns begins like this.

    Raises:
        IncompatibleColumn: there are such columns.
    """
    ours = [name for name in names if _OURS.match(name)]
    if ours:
        raise IncompatibleColumn(
            expected=f"columns whose names do not begin with _lakemerge_, and are not {DELTA_NAME}",
            found=", ".join(ours),
            action="Give them other names in the model.",
        )


def plan_new(
    feed: StructType,
    partition_by: Sequence[str],
    keep: Iterable[str] | None = None,
    generated: Sequence[HiveColumn] = (),
) -> SchemaPlan:
    """The columns of a table that is created (or replaced) from a feed.

    Args:
        partition_by: names in the order of the partition's path; they become the last columns.
        keep: the feed's columns that reach the table; all if ``None``.
        generated: columns that the write itself fills, even if the feed has columns of these names.

    Raises:
        UnsupportedColumnType: see :func:`hive_columns`.
        IncompatibleColumn: a partition column is missing, or there is no other column.
    """
    wanted = StructType(_wanted(feed, keep))
    types = {column.name: column.type for column in hive_columns(wanted, partition_by)}
    filled = {column.name: column.type for column in generated}
    types = {name: kind for name, kind in types.items() if name not in filled} | filled
    check_names(types)
    keys = [name.lower() for name in partition_by]
    missing = [name for name in keys if name not in types]
    if missing or len(types) == len(keys):
        raise IncompatibleColumn(
            expected=f"the partition columns {', '.join(keys)} and others among the model's columns",
            found=f"the columns {', '.join(types)}",
            action="Correct partition_by or the model's query.",
        )
    nested = [name for name in keys if is_nested(types[name]) or types[name] == "binary"]
    if nested:
        raise IncompatibleColumn(
            expected="partition columns of simple types",
            found=", ".join(f"{name} {types[name]}" for name in nested),
            action="Partition by another column.",
        )
    ordered = [name for name in types if name not in keys] + keys
    return SchemaPlan(
        tuple(ColumnPlan(name, types[name], name not in filled, False, name in keys) for name in ordered),
        spelling=_spelling(wanted, set(filled)),
    )


def _spelling(feed: StructType, others: Collection[str]) -> dict[str, str]:
    """The names of a feed's columns by their names in lower case, without some others."""
    return {field.name.lower(): field.name for field in feed.fields if field.name.lower() not in others}


def plan_change(
    feed: StructType,
    data: Sequence[HiveColumn],
    partitions: Sequence[HiveColumn],
    on_schema_change: str,
    keep: Iterable[str] | None = None,
    generated: Sequence[HiveColumn] = (),
) -> SchemaPlan:
    """The columns of an existing table after a write, by dbt's ``on_schema_change``.

    ``ignore`` keeps the table's columns, ``append_new_columns`` adds the feed's new ones, ``sync_all_columns``
    also drops those that the feed no longer has and takes over its types; ``fail`` raises on a difference.
    Snapshots have ``append_and_widen``: besides adding columns, it gives a stored one the feed's type where that
    is wider. The fields of structs are added and dropped as columns are; but where they are not, a feed that has
    others than the table is refused.

    Args:
        generated: columns that the write itself fills; the table must have them, with types that they fit in.

    Raises:
        SchemaChanged: the policy is ``fail`` and the columns differ.
        IncompatibleColumn: a column of the feed cannot be stored in the table's without loss.
    """
    filled = {column.name for column in generated}
    _require_generated(generated, (*data, *partitions))
    wanted = StructType([field for field in _wanted(feed, keep) if field.name.lower() not in filled])
    kinds = {field.name.lower(): field.dataType for field in wanted.fields}
    keys = {column.name for column in partitions}
    stored = {column.name: column.type for column in (*data, *partitions)}
    new = [name for name in kinds if name not in stored]
    gone = [name for name in stored if name not in kinds and name not in keys and name not in filled]
    offered = {column.name: column.type for column in hive_columns(wanted)}
    other = [name for name in stored if name in offered and not _same(offered[name], stored[name])]
    if on_schema_change == "fail" and (new or gone or other):
        raise _schema_changed(new, gone, other, offered, stored)
    types = stored | {
        name: _changed_type(offered[name], stored[name], on_schema_change)
        for name in other
        if name not in keys
    }
    refused = [
        found
        for name in other
        for found in misfits_of(kinds[name], spark_type(types[name]), name)
        if types[name] != offered[name]
    ]
    widening = on_schema_change == "append_and_widen"
    if refused:
        raise IncompatibleColumn(
            expected="columns that can be stored in the table's without loss",
            found="; ".join(refused),
            action="Cast them in the model"
            + ("." if widening else ", or set on_schema_change: sync_all_columns to change the table."),
        )
    syncs = on_schema_change == "sync_all_columns"
    names = [column.name for column in data if not (syncs and column.name in gone)]
    names += new if on_schema_change not in ("ignore", "fail") else []
    types.update({name: offered[name] for name in names if name not in types})
    check_names([*names, *keys])
    retyped = any(
        types[name] != stored[name] and not (widening and is_text(types[name]))
        for name in names
        if name in stored
    )
    plans = [
        ColumnPlan(
            name,
            types[name],
            name in kinds,
            name in stored,
            name in keys,
            kinds.get(name) if offered.get(name) != types[name] else None,
            stored_type(stored.get(name), types[name]),
        )
        for name in (*names, *(column.name for column in partitions))
    ]
    rewrites = retyped or (syncs and bool(gone))
    return SchemaPlan(tuple(plans), rewrites_all=rewrites, spelling=_spelling(wanted, stored))


def stored_type(stored: str | None, wanted: str) -> DataType | None:
    """The type of stored values as a :class:`ColumnPlan` has it: nothing where there are none, or of that type."""
    return None if stored is None or stored == wanted or not is_nested(wanted) else spark_type(stored)


def _same(offered: str, stored: str) -> bool:
    if offered == stored:
        return True
    return is_nested(offered) and is_nested(stored) and same_type(spark_type(offered), spark_type(stored))


def _changed_type(offered: str, stored: str, on_schema_change: str) -> str:
    """The type of a column whose type in the feed is not the stored one; see :func:`plan_change`."""

    def choose(one: DataType, other: DataType) -> DataType:
        if on_schema_change == "sync_all_columns":
            return other
        if on_schema_change == "append_and_widen" and is_wider(hive_type(other), hive_type(one)):
            return other
        return one

    kind, found = spark_type(stored), spark_type(offered)
    adds = on_schema_change not in ("ignore", "fail")
    changed = evolved(kind, found, choose, adds=adds, drops=on_schema_change == "sync_all_columns")
    return stored if same_type(changed, kind) else hive_type(changed)


def _require_generated(generated: Sequence[HiveColumn], stored: Sequence[HiveColumn]) -> None:
    types = {column.name: column.type for column in stored}
    unfit = [
        f"{column.name} {types.get(column.name, 'missing')}"
        for column in generated
        if column.name not in types
        or (
            types[column.name] != column.type
            and not stores_losslessly(spark_type(column.type), spark_type(types[column.name]))
        )
    ]
    if unfit:
        raise IncompatibleColumn(
            expected="a table with the columns "
            + ", ".join(f"{column.name} {column.type}" for column in generated),
            found=", ".join(unfit),
            action="Set the model's options to the columns that the table has, or run with --full-refresh.",
        )


def is_text(kind: str) -> bool:
    """Whether a Hive type, by its name, holds text."""
    return kind == "string" or kind.startswith(("varchar(", "char("))


def is_nested(kind: str) -> bool:
    """Whether a Hive type, by its name, holds values of other types."""
    return kind.startswith(("array", "map", "struct"))


def is_wider_text(offered: str, stored: str) -> bool:
    """Whether a text type holds longer texts than another text type.

    Neither is wider where one is a ``char(n)``: the blanks of its values would become part of them, or others get some.
    """
    if not is_text(stored) or offered.startswith("char(") != stored.startswith("char("):
        return False
    new, old = (int(re.sub(r"\D", "", kind) or 2**31) for kind in (offered, stored))
    return new > old


def is_wider(offered: str, stored: str) -> bool:
    """Whether a type (by its Hive name) holds every value of another of its family, and more."""
    if is_text(offered) and is_text(stored):
        return is_wider_text(offered, stored)
    return _widens(spark_type(stored), spark_type(offered))


def plan_same(data: Sequence[HiveColumn], partitions: Sequence[HiveColumn]) -> SchemaPlan:
    """The columns of a table whose own rows are written again."""
    plans = [ColumnPlan(column.name, column.type, False, True) for column in data]
    plans += [ColumnPlan(column.name, column.type, False, True, True) for column in partitions]
    return SchemaPlan(tuple(plans))


def _wanted(feed: StructType, keep: Iterable[str] | None) -> list[StructField]:
    """The feed's columns that reach the table."""
    kept = None if keep is None else {name.lower() for name in keep}
    return [field for field in feed.fields if kept is None or field.name.lower() in kept]


@functools.lru_cache(maxsize=1000)
def spark_type(text: str) -> DataType:
    """Spark's type for a Hive type's name. Java parses it, so the result is kept: tables have thousands of columns."""
    return type_of_ddl(text)


def _schema_changed(
    new: list[str], gone: list[str], other: list[str], offered: dict[str, str], stored: dict[str, str]
) -> IncompatibleColumn:
    from lakemerge.errors import SchemaChanged

    changes = [f"new: {', '.join(new)}"] if new else []
    changes += [f"gone: {', '.join(gone)}"] if gone else []
    changes += [f"{name} is {offered[name]}, was {stored[name]}" for name in other]
    return SchemaChanged(
        expected="the model to have the table's columns (on_schema_change: fail)",
        found="; ".join(changes),
        action="The source and target schemas on this incremental model are out of sync. Correct the model, "
        "choose another on_schema_change, or run with --full-refresh.",
    )
