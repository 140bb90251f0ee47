"""Changes of a table's columns outside its model's run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql.types import DataType, StringType, StructField, StructType

from lakemerge.engine.macros import Macros
from lakemerge.engine.options.write import WriteConfig
from lakemerge.engine.publish.driver import Counts, Driver
from lakemerge.engine.publish.node_transaction import NodeTransaction
from lakemerge.engine.publish.publisher import Publisher
from lakemerge.engine.relations.hive_types import hive_columns
from lakemerge.engine.relations.table_schema import (
    ColumnPlan,
    SchemaPlan,
    is_nested,
    is_text,
    is_wider_text,
    spark_type,
    stored_type,
    stores_losslessly,
)
from lakemerge.errors import IncompatibleColumn, UnsupportedColumnType
from lakemerge.kernel import ALTERATION, HiveColumn

# A text without a length, as packages for other databases write it.
_UNSIZED_TEXTS = ("varchar", "char", "text")


@dataclass(frozen=True)
class Alteration:
    """A change of a table's columns.

    Attributes:
        add, retype: types by column name.
        remove: the names of columns.
    """

    add: Mapping[str, str]
    remove: Sequence[str]
    retype: Mapping[str, str]


class Alter(Driver[WriteConfig]):
    """Changes the columns of a table by one commit. Where the stored files no longer fit, all rows are rewritten."""

    operation = ALTERATION

    def __init__(self, publisher: Publisher[WriteConfig], macros: Macros, alteration: Alteration) -> None:
        super().__init__(publisher, macros)
        self._alteration = alteration

    def begin(self) -> NodeTransaction:
        wanted = self._alteration

        def plan(data: Sequence[HiveColumn], partitions: Sequence[HiveColumn]) -> SchemaPlan:
            return plan_altered(data, partitions, wanted.add, wanted.remove, wanted.retype)

        return self.publisher.begin_alteration(self.operation, plan)

    def attempt(self, txn: NodeTransaction) -> Counts:
        properties = dict(txn.base.properties) if txn.base else {}
        if txn.rewrites_all:
            txn.read()
            txn.stage(self.macros.lakemerge_own_rows_sql(txn), count=False)
            # the highest sequence may be that of a column that is gone, or be written in another way now
            properties |= {"max_sequence": None, "sequence_by": None}
        txn.commit({}, properties)
        return {}


def plan_altered(
    data: Sequence[HiveColumn],
    partitions: Sequence[HiveColumn],
    add: Mapping[str, str],
    remove: Iterable[str],
    retype: Mapping[str, str],
) -> SchemaPlan:
    """The columns of a table after some are added, dropped or given another type.

    Args:
        add, retype: types by column name, as Spark writes them; a text without a length is a ``string``.

    Raises:
        IncompatibleColumn: a column is there already, is not there, or is one that the table is partitioned by;
            no column would be left; or values of a nested type could be lost.
        UnsupportedColumnType: a Hive table cannot hold one of the types.
    """
    stored = {column.name: column.type for column in data}
    new, gone, other = _declared(add), {name.lower() for name in remove}, _declared(retype)
    problems = [f"no column {name}" for name in sorted((gone | set(other)) - set(stored))]
    problems += [f"the column {name} already" for name in new if name in stored]
    problems += [f"the partition column {key.name}" for key in partitions if key.name in new]
    problems += [f"none beside {', '.join(sorted(gone))}"] if not (set(stored) | set(new)) - gone else []
    problems += [
        f"{name} {stored[name]}, of which {kind} does not hold every value"
        for name, kind in other.items()
        if is_nested(stored.get(name, ""))
        and not stores_losslessly(spark_type(stored[name]), spark_type(kind), may_add=True)
    ]
    if problems:
        changes = [*(f"add {name}" for name in new), *(f"drop {name}" for name in sorted(gone))]
        changes += [f"change {name} to {kind}" for name, kind in other.items()]
        raise IncompatibleColumn(
            expected=f"data columns that allow to {', '.join(changes)}",
            found="; ".join(problems),
            action="Correct the names or types. Another partitioning takes `dbt run --full-refresh`.",
        )
    types = {name: other.get(name, kind) for name, kind in stored.items() if name not in gone} | new
    plans = [
        ColumnPlan(name, kind, False, name in stored, stored_type=stored_type(stored.get(name), kind))
        for name, kind in types.items()
    ]
    plans += [ColumnPlan(column.name, column.type, False, True, True) for column in partitions]
    retyped = any(
        kind != stored[name] and not (is_text(kind) and is_wider_text(kind, stored[name]))
        for name, kind in other.items()
    )
    spelling = {name.lower(): name for name in add}
    return SchemaPlan(tuple(plans), rewrites_all=bool(gone) or retyped, spelling=spelling)


def _declared(types: Mapping[str, str]) -> dict[str, str]:
    """Hive's names for types as users write them, by column name in lower case. Raises UnsupportedColumnType."""
    fields = [StructField(name.lower(), _parsed(name, kind)) for name, kind in types.items()]
    return {column.name: column.type for column in hive_columns(StructType(fields))}


def _parsed(name: str, kind: str) -> DataType:
    from pyspark.errors import ParseException

    if kind.strip().lower() in _UNSIZED_TEXTS:
        return StringType()
    try:
        return spark_type(kind)
    except ParseException as error:
        raise UnsupportedColumnType(
            expected=f"a type of Spark's for the column {name}",
            found=kind,
            action="Write it as in `create table`, such as decimal(10,2) or array<string>.",
        ) from error
