"""Rows of dbt's catalog, from the metastore's own rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dbt.adapters.lakemerge.relation import LakemergeRelation
from dbt_common.contracts.metadata import CatalogTable, ColumnMetadata, StatsItem, TableMetadata

from lakemerge.engine.relations.comments import COMMENT_PROPERTY
from lakemerge.kernel import VERSION, HiveColumn, HiveTable, spelled

if TYPE_CHECKING:
    import agate

_COLUMNS = (
    "table_database",
    "table_schema",
    "table_name",
    "table_type",
    "table_comment",
    "table_owner",
    "column_name",
    "column_index",
    "column_type",
    "column_comment",
)
_NUMBERS = frozenset({"column_index"})

# Statistic: label, description, and where Spark and Hive keep it.
_STATISTICS: Mapping[str, tuple[str, str, tuple[str, ...]]] = {
    "bytes": ("Size", "Bytes in files", ("spark.sql.statistics.totalSize", "totalSize")),
    "rows": ("Rows", "Number of rows", ("spark.sql.statistics.numRows", "numRows")),
    "files": ("Files", "Number of files", ("numFiles",)),
    "version": ("Version", "Commits since lakemerge made or adopted the table", (VERSION,)),
}
# The columns that Spark records for a view with types unknown to Hive.
_NO_COLUMNS = ((), (HiveColumn("col", "array<string>", "from deserializer"),))
_FIELDS = ("label", "value", "description", "include")


def catalog_rows(
    table: HiveTable, columns_of_view: Callable[[HiveTable], Iterable[HiveColumn]]
) -> Iterable[dict[str, Any]]:
    """One row per column, partition columns last, positions from 1.

    Args:
        columns_of_view: gives the columns of a view for which the metastore has none.
    """
    columns: Sequence[HiveColumn] = spelled(table)
    if table.kind == "VIRTUAL_VIEW" and tuple(table.columns) in _NO_COLUMNS:
        columns = tuple(columns_of_view(table))
    shared = {
        "table_database": None,
        "table_schema": table.name.schema,
        "table_name": table.name.name,
        "table_type": str(LakemergeRelation.type_of(table.kind)),
        "table_comment": table.parameters.get("comment"),
        "table_owner": table.owner or None,
        **statistics(table),
    }
    for index, column in enumerate(columns, start=1):
        yield {
            **shared,
            "column_name": column.name,
            "column_index": index,
            "column_type": column.type,
            "column_comment": table.parameters.get(COMMENT_PROPERTY + column.name.lower())
            or column.comment
            or None,
        }


def catalog_entry(
    table: HiveTable, columns_of_view: Callable[[HiveTable], Iterable[HiveColumn]]
) -> CatalogTable:
    """One table or view as dbt's catalog.json has it; see :func:`catalog_rows`."""
    rows = list(catalog_rows(table, columns_of_view))
    numbers = statistics(table)
    stats = {
        name: StatsItem(
            id=name,
            label=label,
            value=numbers[f"stats:{name}:value"],
            include=True,
            description=description,
        )
        for name, (label, description, _) in _STATISTICS.items()
        if numbers[f"stats:{name}:include"]
    }
    has_stats = StatsItem(
        id="has_stats",
        label="Has Stats?",
        value=bool(stats),
        include=False,
        description="Indicates whether there are statistics for this table",
    )
    return CatalogTable(
        metadata=TableMetadata(
            type=str(LakemergeRelation.type_of(table.kind)),
            schema=table.name.schema,
            name=table.name.name,
            comment=table.parameters.get("comment"),
            owner=table.owner or None,
        ),
        columns={
            row["column_name"]: ColumnMetadata(
                type=row["column_type"],
                index=row["column_index"],
                name=row["column_name"],
                comment=row["column_comment"],
            )
            for row in rows
        },
        stats={**stats, "has_stats": has_stats},
    )


def statistics(table: HiveTable) -> dict[str, Any]:
    """dbt's ``stats:<name>:<field>`` for what the metastore knows of the table's size."""
    row: dict[str, Any] = {}
    for name, (label, description, parameters) in _STATISTICS.items():
        found = (_number(table.parameters.get(parameter)) for parameter in parameters)
        value = next((number for number in found if number is not None), None)
        values = (label, value, description, True) if value is not None else (None, None, None, None)
        row.update({f"stats:{name}:{field}": item for field, item in zip(_FIELDS, values, strict=True)})
    return row


def _number(text: str | None) -> int | None:
    """The number in a parameter; -1 is Hive's word for unknown. ``12@…`` is a version, ``13:…`` one being made."""
    head = (text or "").partition(":")[0].partition("@")[0]
    return int(head) if head.isdigit() else None


def catalog_table(rows: Iterable[Mapping[str, Any]]) -> agate.Table:
    """dbt's catalog as an agate table; texts stay texts even where they look like numbers."""
    from dbt_common.clients.agate_helper import table_from_rows

    stats = [f"stats:{name}:{field}" for name in _STATISTICS for field in _FIELDS]
    names = [*_COLUMNS, *stats]
    texts = [name for name in _COLUMNS if name not in _NUMBERS]
    return table_from_rows([[row.get(name) for name in names] for row in rows], names, texts)
