"""Rows that meet conditions leave several tables, with their side data and earlier versions, and files are searched."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from lakemerge.engine.erasure.conditions import require_searchable
from lakemerge.engine.erasure.search import Found, Search
from lakemerge.engine.erasure.views import back_on_read, off_read
from lakemerge.engine.failures import typed_failures
from lakemerge.engine.operations.arguments import check_flags
from lakemerge.engine.packaged_macros import packaged_macros
from lakemerge.engine.spark.beside import session_beside
from lakemerge.engine.spark.session import application_of
from lakemerge.engine.sql_text import qualified
from lakemerge.engine.statements.parsing import Statement
from lakemerge.engine.statements.run import carry_out, required
from lakemerge.engine.statements.target import quarantine_of
from lakemerge.engine.transactions.transaction import Transaction
from lakemerge.errors import CommitConflict, InvalidConfig, NotErased
from lakemerge.kernel import (
    SIDE_TABLES,
    Kernel,
    ReadOnlyKernel,
    Settings,
    TableName,
    each_version,
    held_by,
    vacuum,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOG = logging.getLogger("lakemerge")
#: What the commit is called that follows on a table's last rows, so that its manifest names none of their partitions.
ERASURE = "erase"
_ATTEMPTS = 10
# An error names at most this many files.
_SHOWN = 20

Row = dict[str, Any]


@dataclass
class Erased:
    """A table of which rows are erased.

    Attributes:
        condition: SQL over its columns; empty where only its quarantine is named.
        quarantined: SQL over the columns of its quarantine; empty where that is not named.
        rows: of the newest version that meet the condition; in a history, of the keys that do.
        versions: those that readers lose.
        found: what the search found before, and what it finds afterwards.
    """

    name: TableName
    condition: str = ""
    quarantined: str = ""
    rows: int = 0
    versions: list[int] = field(default_factory=list)
    found: list[Found] = field(default_factory=list)

    @property
    def is_concerned(self) -> bool:
        """Whether there is anything to erase."""
        return bool(self.rows) or any(one.is_row for one in self.found)

    def row(self, state: str, kept_by: list[str]) -> Row:
        """What is told of it."""
        return {
            "table_name": str(self.name),
            "state": state,
            "rows": self.rows,
            "versions": self.versions,
            "kept_by": kept_by,
            "files": [one.path for one in self.found if one.is_row],
            "keys_in": [one.path for one in self.found if one.what == "keys"],
            "named_in": [one.path for one in self.found if one.what == "text"],
        }


def erase_rows(
    spark: SparkSession, conditions: Mapping[str, str], *, dry_run: bool, agent: str = "lakemerge.erase"
) -> list[Row]:
    """The work of :func:`lakemerge.erase`."""
    check_flags({"dry_run": dry_run})
    ports = application_of(spark).ports
    settings = Settings(writer={"agent": agent})
    kernel = (ReadOnlyKernel if dry_run else Kernel)(ports, settings)
    with typed_failures():
        tables = _tables(spark, kernel, conditions)
        require_searchable(spark, [one.name for one in tables], [one.condition for one in tables])
        for one in tables:
            _look(spark, kernel, one)
        if dry_run:
            return [
                one.row("needed" if one.is_concerned else "clean", held_by(kernel, one.name))
                for one in tables
            ]
        concerned = [one for one in tables if one.is_concerned]
        if concerned:
            _delete(spark, kernel, concerned)
        for one in concerned:
            one.found = Search(spark, kernel, one.name).run(one.condition, one.quarantined)
    rows = [one.row("erased" if one in concerned else "clean", held_by(kernel, one.name)) for one in tables]
    _require_none(concerned, rows)
    return rows


def _tables(spark: SparkSession, kernel: Kernel, conditions: Mapping[str, str]) -> list[Erased]:
    """The tables, each with its quarantine. Raises InvalidConfig, UnsupportedTable, UnsupportedStatement."""
    if not isinstance(conditions, Mapping) or not conditions:
        raise InvalidConfig(
            expected='conditions by table, such as {"shop.customers": "customer_id = 7"}',
            found=repr(conditions),
            action="Name the tables.",
        )
    found: dict[TableName, Erased] = {}
    for text, condition in conditions.items():
        name = TableName.parse(str(text), str(spark.catalog.currentDatabase()))
        if not isinstance(condition, str) or not condition.strip():
            raise InvalidConfig(
                expected=f"a condition for {name}, as SQL over its columns",
                found=repr(condition),
                action="Write one; `true` is for all rows.",
            )
        _statement(spark, name, condition)
        main = quarantine_of(kernel.metastore, name)
        one = found.setdefault(main or name, Erased(main or name))
        if main:
            one.quarantined = condition
        else:
            one.condition = condition
    return list(found.values())


def _statement(spark: SparkSession, name: TableName, condition: str) -> Statement:
    sql = f"delete from {qualified(name)} where {condition}"
    return dataclasses.replace(required(spark, application_of(spark), sql)[0], erases=True)


def _look(spark: SparkSession, kernel: Kernel, one: Erased) -> None:
    """Find out what holds rows now."""
    if one.condition:
        spark.catalog.refreshTable(qualified(one.name))
        rows = spark.table(qualified(one.name)).alias(one.name.name)
        one.rows = rows.where(one.condition).count()
    one.found = Search(spark, kernel, one.name).run(one.condition, one.quarantined)
    if one.is_concerned and kernel.current_state(one.name) is not None:
        one.versions = sorted(manifest.version for manifest in each_version(kernel, one.name))


def _delete(spark: SparkSession, kernel: Kernel, tables: list[Erased]) -> None:
    """Delete the rows, the quarantines' records, and all earlier versions."""
    changed = [one for one in tables if one.condition]
    views = {one.name: off_read(spark, kernel, one.name) for one in changed}
    try:
        if changed:
            _delete_rows(spark, kernel, changed)
        for one in tables:
            if one.quarantined:
                _delete_records(spark, kernel, one)
        for one in tables:
            _free(kernel, one.name)
    finally:
        for name, keys in views.items():
            if keys:
                back_on_read(spark, kernel, name, keys)
        for one in tables:
            spark.catalog.refreshTable(qualified(one.name))


def _delete_rows(spark: SparkSession, kernel: Kernel, tables: list[Erased]) -> None:
    """Delete the rows of all tables by one commit."""
    names = [str(one.name) for one in tables]
    with Transaction(names, spark, on_lease_lost=None, max_attempts=_ATTEMPTS) as transaction:
        for one in tables:
            transaction.take(_statement(spark, one.name, one.condition), one.name, kernel.settings)


def _delete_records(spark: SparkSession, kernel: Kernel, one: Erased) -> None:
    """Delete the records of a table's quarantine by a commit of the table."""
    side = SIDE_TABLES["quarantine"].name_of(one.name)
    statement = _statement(spark, side, one.quarantined)
    with session_beside(spark, f"erasure of {side}") as handle:
        carry_out(statement, side, spark, handle, packaged_macros(), kernel.settings)


def _free(kernel: Kernel, name: TableName) -> None:
    """Make a version that says nothing of the last one's partitions, and delete all others."""

    def follow() -> None:
        with kernel.begin(name, ERASURE, data_change=False) as transaction:
            transaction.properties = dict(transaction.base.properties) if transaction.base else {}
            transaction.commit()

    kernel.retried(follow, CommitConflict, first=0.1, longest=2, attempts=_ATTEMPTS)
    vacuum(kernel, name, retention=timedelta(0), retain_last=1, dry_run=False, allow_short_retention=True)


def _require_none(tables: list[Erased], rows: list[Row]) -> None:
    left = [str(found) for one in tables for found in one.found if found.is_row]
    for one in tables:
        for found in one.found:
            if not found.is_row:
                _LOG.warning("%s: still in %s", one.name, found)
    if not left:
        return
    keepers = sorted({keeper for row in rows for keeper in row["kept_by"]})
    more = f" and {len(left) - _SHOWN} more" if len(left) > _SHOWN else ""
    raise NotErased(
        expected="no file that holds a row which meets the conditions",
        found=f"{'; '.join(left[:_SHOWN])}{more}",
        action="The rows are deleted from the newest versions."
        + (f" Earlier ones are kept by {'; '.join(keepers)}." if keepers else "")
        + " When nothing needs these files any more, run it again, or delete those that are not lakemerge's yourself.",
    )
