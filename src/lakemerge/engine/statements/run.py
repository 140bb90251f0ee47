"""A statement carried out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lakemerge.engine.failures import typed_failures
from lakemerge.engine.lifecycle import Lifecycle
from lakemerge.engine.macros import Macros
from lakemerge.engine.publish.publisher import Publisher
from lakemerge.engine.publish.result import CommitResult
from lakemerge.engine.spark.handle import SessionHandle
from lakemerge.engine.sql_text import qualified
from lakemerge.engine.statements.delete_update import Delete, Update
from lakemerge.engine.statements.inserts import Insert
from lakemerge.engine.statements.merge_into import MergeInto
from lakemerge.engine.statements.parsing import Statement, statement_of
from lakemerge.engine.statements.row_changes import RowChanges
from lakemerge.engine.statements.target import is_ours, name_of, target_of
from lakemerge.engine.statements.truncate import Truncate
from lakemerge.kernel import Kernel, Ports, Settings, TableName

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_DRIVERS: dict[str, type[RowChanges]] = {
    "delete": Delete,
    "update": Update,
    "merge into": MergeInto,
    "insert": Insert,
    "truncate": Truncate,
}


def ours(spark: SparkSession, ports: Ports, sql: str) -> tuple[Statement, TableName] | None:
    """The statement that a text is, and its table; ``None`` for what Spark carries out.

    Raises:
        UnsupportedTable: neither can.
    """
    statement = statement_of(spark, sql)
    name = name_of(spark, statement.target) if statement else None
    if statement is None or name is None or not is_ours(ports.metastore, name, statement.kind):
        return None
    return statement, name


def carry_out(
    statement: Statement,
    name: TableName,
    session: SparkSession,
    handle: SessionHandle,
    macros: Macros,
    settings: Settings,
) -> CommitResult:
    """Do what a statement says, by one commit.

    Args:
        session: the one that the statement was given in, whose views and settings it means.
        handle: of the session in which the work is done.

    Raises:
        LakemergeError, PySparkException: nothing was published, unless the error says otherwise.
    """
    kernel = Kernel(handle.application.ports, settings)
    with typed_failures():
        target = target_of(kernel, statement, name)
        publisher: Publisher[Any] = Publisher(handle, kernel, name, target.config, constraints=target.constraints)
        driver = _DRIVERS[statement.kind](publisher, macros, handle, session, statement, target)
        done = Lifecycle(driver).publish()
    session.catalog.refreshTable(qualified(name))
    return done
