"""The adapter's methods that change the columns of a table apart from its model's run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from dbt.adapters.base import available
from dbt.adapters.lakemerge.column import LakemergeColumn
from dbt.adapters.lakemerge.options.write import WriteConfig
from dbt.adapters.lakemerge.publish.commit_methods import PublishingMethods
from dbt.adapters.lakemerge.publish.node_transaction import NodeTransaction
from dbt.adapters.lakemerge.publish.retries import attempts
from dbt.adapters.lakemerge.relation import LakemergeRelation
from dbt.adapters.lakemerge.relations.casts import require_castable
from dbt.adapters.lakemerge.relations.table_schema import (
    ColumnPlan,
    SchemaPlan,
    hive_columns,
    is_nested,
    is_text,
    is_wider_text,
    spark_type,
    stores_losslessly,
)
from pyspark.sql.types import DataType, StringType, StructField, StructType

from lakemerge.errors import IncompatibleColumn, UnsupportedColumnType
from lakemerge.kernel import ALTERATION, HiveColumn

# A text without a length, as packages for other databases write it.
_UNSIZED_TEXTS = ("varchar", "char", "text")


class AlterationMethods(PublishingMethods):
    """A mixin of the adapter; see the macro `lakemerge_alter_columns`."""

    @available.parse_list
    def alterations(
        self,
        relation: LakemergeRelation,
        add: Sequence[LakemergeColumn],
        remove: Sequence[LakemergeColumn],
        retype: Mapping[str, str],
    ) -> Iterator[NodeTransaction]:
        """Transactions that change a table's columns; see :meth:`transactions`.

        Args:
            relation: may be one that `--empty` limits: its name alone counts.
            retype: new types by column name.

        Raises:
            DbtRuntimeError: there is no such table, it is none that lakemerge writes, or a change is not possible.
        """
        name = relation.table_name
        kernel, config = self._kernel({}, None), WriteConfig()

        def begin() -> NodeTransaction:
            transaction = kernel.begin(name, ALTERATION)
            self.handle.on_release(transaction.abort)
            base = transaction.base
            assert base is not None
            plan = plan_altered(
                base.columns,
                base.partition_columns,
                {column.name: column.data_type for column in add},
                [column.name for column in remove],
                retype,
            )
            require_castable(self.handle.spark, name, plan, base)
            self._describe(transaction, config, plan, rebuild=False)
            return NodeTransaction(
                self.handle.spark,
                transaction,
                config,
                plan,
                table=f"`{name.schema}`.`{name.name}`",
                rebuilds=False,
                constraints={},
                guard=self.connections.exception_handler,
            )

        with self.connections.exception_handler(f"alter {name}"):
            yield from attempts(name, begin, config.max_attempts)
        self.handle.spark.catalog.refreshTable(f"`{name.schema}`.`{name.name}`")


def plan_altered(
    data: Sequence[HiveColumn],
    partitions: Sequence[HiveColumn],
    add: Mapping[str, str],
    remove: Iterable[str],
    retype: Mapping[str, str],
) -> SchemaPlan:
    """The columns of a table some of which are added, dropped or given another type.

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
        and not stores_losslessly(spark_type(stored[name]), spark_type(kind))
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
    plans = [ColumnPlan(name, kind, False, name in stored) for name, kind in types.items()]
    plans += [ColumnPlan(column.name, column.type, False, True, True) for column in partitions]
    retyped = any(
        kind != stored[name] and not (is_text(kind) and is_wider_text(kind, stored[name]))
        for name, kind in other.items()
    )
    return SchemaPlan(tuple(plans), rewrites_all=bool(gone) or retyped)


def _declared(types: Mapping[str, str]) -> dict[str, str]:
    """Hive's names of types that somebody wrote, by column name in lower case. Raises UnsupportedColumnType."""
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
