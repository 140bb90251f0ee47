"""The table that a statement changes: whether it is one of ours, and by which rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lakemerge.engine.options.write import WriteConfig
from lakemerge.engine.ruled_table import rules_of
from lakemerge.engine.statements.parsing import MergeParts, Statement
from lakemerge.engine.strategies import config_of
from lakemerge.errors import UnsupportedStatement, UnsupportedTable
from lakemerge.kernel import (
    PUBLISHED_OF,
    SIDE_TABLES,
    TAG_OF,
    HiveTable,
    Kernel,
    Manifest,
    Metastore,
    TableName,
    check_supported,
    find_row,
    is_overlay_view,
    state_of,
)
from lakemerge.table_rules import TableRules

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Spark's own catalog, whose tables are those of the metastore.
_CATALOG = "spark_catalog"
# What Spark itself does to a table that lakemerge has not written to yet; the others need versions.
_LEFT_TO_SPARK = ("insert", "truncate")
_QUARANTINE = SIDE_TABLES["quarantine"].suffix
_PLAIN = ("", "hive", "orc", "parquet", "text", "csv", "json", "avro")


@dataclass(frozen=True)
class Target:
    """A table that a statement changes.

    Attributes:
        config: what the model or program that made the table has recorded about writing it.
        constraints: SQL that finds the rows which break a constraint, by the constraint's name.
        hidden: columns of the table's feed that do not reach it, with Spark's types.
    """

    name: TableName
    config: WriteConfig
    constraints: Mapping[str, str] = field(default_factory=dict)
    hidden: Mapping[str, str] = field(default_factory=dict)


def name_of(spark: SparkSession, parts: Sequence[str]) -> TableName | None:
    """The table of the metastore that a name in a statement means; ``None`` for one of another catalog, or a view of
    the session."""
    catalog = spark._jsparkSession.sessionState().catalogManager().currentCatalog().name()
    if len(parts) == 3 and parts[0].lower() == _CATALOG:
        parts = parts[1:]
    elif len(parts) > 2 or str(catalog) != _CATALOG:
        return None
    if len(parts) == 1 and spark._jsparkSession.sessionState().catalog().getTempView(parts[0]).isDefined():
        return None
    schema, name = parts if len(parts) == 2 else (str(spark.catalog.currentDatabase()), parts[0])
    return TableName(schema.lower(), name.lower())


def is_ours(metastore: Metastore, name: TableName, kind: str) -> bool:
    """Whether a statement is lakemerge's to carry out.

    Spark carries out what it can by itself: inserts into tables that have no versions, and whatever is done to tables
    of other formats.

    Raises:
        UnsupportedTable: Spark cannot do it either, and the error says why lakemerge does not.
    """
    row = find_row(metastore, name)
    if row is not None and PUBLISHED_OF in row.parameters:
        if kind != "delete" or not row.name.name.endswith(_QUARANTINE):
            raise UnsupportedStatement(
                expected=f"a DELETE from a quarantine, of what lakemerge keeps beside a table in {name}",
                found=kind.upper() if row.name.name.endswith(_QUARANTINE) else "a table of deltas",
                action="Change the table itself; to read records of a quarantine again, use lakemerge_replay.",
            )
        return True
    if row is None or (row.kind == "VIRTUAL_VIEW" and not is_overlay_view(row)):
        return False
    if state_of(row) is not None:
        return True
    if TAG_OF in row.parameters:
        check_supported(row)  # Spark would write into the files of the table whose version it shows
    if kind in _LEFT_TO_SPARK or not _is_plain(row):
        return False
    check_supported(row)
    return True


def quarantine_of(metastore: Metastore, name: TableName) -> TableName | None:
    """The table of whose ingest a table shows the rejected records; ``None`` for any other table."""
    row = metastore.get_table(name) if name.name.endswith(_QUARANTINE) else None
    if row is None or PUBLISHED_OF not in row.parameters:
        return None
    return TableName(name.schema, name.name.removesuffix(_QUARANTINE))


def _is_plain(row: HiveTable) -> bool:
    """Whether a table is of no format with versions of its own, such as Delta or Iceberg."""
    provider = row.parameters.get("spark.sql.sources.provider", "").lower()
    return provider in _PLAIN and row.parameters.get("table_type", "").upper() not in ("ICEBERG", "DELTA")


def target_of(kernel: Kernel, statement: Statement, name: TableName) -> Target:
    """The table, with the rules that its commits have recorded.

    Raises:
        TableNotFound, UnsupportedTable, ClaimHeld: it cannot be written.
        UnsupportedStatement: its rows are formed from changes, and cannot be changed themselves.
    """
    state, manifest = kernel.settled(name)
    return target_by(rules_of(kernel, name, state.commit_column), manifest, statement, name)


def target_by(rules: TableRules | None, manifest: Manifest, statement: Statement, name: TableName) -> Target:
    """As :func:`target_of`, for a version with the rules by which it is changed."""
    purpose = manifest.side_data_for.get("ledger")
    if purpose and purpose["history"]:
        _require_of_versions(statement, name)
    if rules is not None:
        config = config_of(rules.options, rules.strategy)
        return Target(name, config, rules.constraints, rules.feed)
    if purpose:
        raise UnsupportedTable(
            expected=f"{name} to say by which rules it is merged",
            found="a table whose last merge was one of an earlier version, which did not record them",
            action="Run its model once, and then the statement.",
        )
    return Target(name, WriteConfig())


def _require_of_versions(statement: Statement, name: TableName) -> None:
    """Check that a statement on a history deletes versions, or gives them other values.

    Raises:
        UnsupportedStatement: it brings rows of its own, or takes all away without reading them.
    """
    if statement.kind in ("delete", "update") or (
        statement.kind == "merge into" and not MergeParts.of(statement.plan).inserting
    ):
        return
    inserts = "send the changes of which the versions are formed by the feed"
    removes = f"DELETE FROM {name} forgets all keys, so that no old batch brings them back; --full-refresh begins anew"
    raise UnsupportedStatement(
        expected=f"a DELETE, an UPDATE, or a MERGE INTO that inserts nothing, on {name}, a history of a feed's changes",
        found=statement.kind.upper(),
        action=f"Instead: {removes if statement.kind == 'truncate' else inserts}.",
    )
