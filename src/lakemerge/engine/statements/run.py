"""A statement carried out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lakemerge.engine.failures import typed_failures
from lakemerge.engine.history.history_options import Scd2MergeConfig
from lakemerge.engine.lifecycle import Lifecycle
from lakemerge.engine.macros import Macros
from lakemerge.engine.options.write import WriteConfig
from lakemerge.engine.packaged_macros import packaged_macros
from lakemerge.engine.publish.amending import AmendingPublisher
from lakemerge.engine.publish.node_transaction import Publish
from lakemerge.engine.publish.publisher import Publisher
from lakemerge.engine.publish.result import CommitResult
from lakemerge.engine.ruled_table import HandOver, Staged, rules_of
from lakemerge.engine.spark.beside import session_beside
from lakemerge.engine.spark.handle import SessionHandle
from lakemerge.engine.spark.session import Application, application_of
from lakemerge.engine.sql_text import qualified
from lakemerge.engine.statements.delete_update import Delete, Update
from lakemerge.engine.statements.erasing import EraseVersions
from lakemerge.engine.statements.inserts import Insert
from lakemerge.engine.statements.merge_into import MergeInto
from lakemerge.engine.statements.parsing import Statement, statement_of
from lakemerge.engine.statements.quarantine import QuarantineDelete
from lakemerge.engine.statements.row_changes import RowChanges
from lakemerge.engine.statements.target import Target, is_ours, name_of, quarantine_of, target_by, target_of
from lakemerge.engine.statements.truncate import Truncate
from lakemerge.errors import UnsupportedStatement, shown
from lakemerge.kernel import Kernel, Manifest, Settings, TableName, Transaction
from lakemerge.redaction import redacted
from lakemerge.table_rules import RULES, TableRules

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: The setting of a session by which commits do not record the text of statements: false.
RECORDS_TEXT = "spark.lakemerge.recordStatements"
# The characters of a text that a commit records at most.
_MOST = 4000
_DRIVERS: dict[str, type[RowChanges]] = {
    "delete": Delete,
    "update": Update,
    "merge into": MergeInto,
    "insert": Insert,
    "truncate": Truncate,
}


def ours(
    spark: SparkSession, application: Application, statement: Statement | None
) -> tuple[Statement, TableName] | None:
    """A statement and its table; ``None`` for what Spark carries out.

    Raises:
        UnsupportedTable: neither can.
    """
    if statement is None:
        return None
    names = [name_of(spark, target) for target in (statement.target, *statement.others)]
    found = [name for name in names if name and is_ours(application.ports.metastore, name, statement.kind)]
    if found and statement.others:
        raise UnsupportedStatement(
            expected=f"a statement that changes one table, {found[0]}",
            found="several INSERTs after one FROM",
            action="Write a statement for each table.",
        )
    return (statement, found[0]) if found else None


def run_statement(spark: SparkSession, sql: str, *, agent: str = "lakemerge.sql") -> CommitResult:
    """Carry out a statement that a program gives in its session: its views and settings apply.

    Args:
        agent: who asks, for the table's history.

    Raises:
        UnsupportedStatement: it is no DELETE, UPDATE, MERGE INTO, INSERT or TRUNCATE of a table that lakemerge can
            commit to.
        LakemergeError, PySparkException: nothing was published, unless the error says otherwise.
    """
    statement, name = required(spark, application_of(spark), sql)
    with session_beside(spark, f"{statement.kind} {name}") as handle:
        writer = {"agent": agent, **text_for_history(spark, sql)}
        return carry_out(statement, name, spark, handle, packaged_macros(), Settings(writer=writer))


def required(spark: SparkSession, application: Application, sql: str) -> tuple[Statement, TableName]:
    """The statement that a text is, and its table.

    Raises:
        UnsupportedStatement, UnsupportedTable: it is none that lakemerge carries out.
    """
    found = ours(spark, application, statement_of(spark, sql))
    if found is None:
        # what Spark cannot read, it says best itself
        spark._jsparkSession.sessionState().sqlParser().parsePlan(sql)
        raise UnsupportedStatement(
            expected="a DELETE, UPDATE, MERGE INTO, INSERT or TRUNCATE of a table that lakemerge can commit to",
            found=shown(sql),
            action="Correct it, or let Spark run it: spark.sql(…).",
        )
    return found


def text_for_history(spark: SparkSession, sql: str) -> dict[str, str]:
    """What a commit records of a statement's text: all of it, unless the session says not to, for literals are data."""
    if str(spark.conf.get(RECORDS_TEXT, "true")).lower() != "true":
        return {}
    text = redacted(sql.strip())
    return {"statement": text if len(text) <= _MOST else f"{text[:_MOST]}… ({len(text)} characters)"}


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
        done = life_of(statement, name, session, handle, macros, kernel).publish()
    session.catalog.refreshTable(qualified(name))
    return done


def life_of(
    statement: Statement,
    name: TableName,
    session: SparkSession,
    handle: SessionHandle,
    macros: Macros,
    kernel: Kernel,
    commit: Publish = Transaction.commit,
) -> Lifecycle:
    """The life of a statement's commit.

    Args:
        session, handle: as of :func:`carry_out`.
        commit: takes the complete transaction.

    Raises:
        LakemergeError: the table cannot be written.
    """
    return Lifecycle(_driver(statement, name, session, handle, macros, kernel, commit))


def amend(
    statement: Statement,
    life: Lifecycle,
    staged: Manifest,
    rows: str,
    handle: SessionHandle,
) -> CommitResult:
    """Let a statement change a version that is staged, in the session that has staged it.

    The kernel's transaction has to be open. If the statement fails, the version stays as it was.

    Args:
        life: of the commit that waits.
        staged: the version.
        rows: the view of its rows.

    Raises:
        UnsupportedStatement: the statement cannot be done before the version is published.
        LakemergeError, PySparkException: nothing was changed.
    """
    publisher, work = life.publisher, life.publisher.staged
    assert work is not None, "it is staged"
    name, kernel = publisher.name, publisher.kernel
    if statement.kind == "insert" or work.commit_column:
        raise UnsupportedStatement(
            expected=f"a DELETE, UPDATE, MERGE INTO or TRUNCATE of {name}, whose rows this run has staged"
            f"{', with an append_layout other than commit_partitioned' if work.commit_column else ''}",
            found=statement.kind.upper(),
            action="Let the model's query say what the rows are, or set publish: at_once on the model.",
        )
    recorded = publisher.rules.get(RULES)
    known = TableRules.of_text(recorded, name) if recorded else None
    if recorded is None and staged.parent is not None:
        known = rules_of(kernel, name, "")
    with typed_failures():
        target = target_by(known, staged, statement, name)
        amending: Publisher[Any] = AmendingPublisher(
            handle, kernel, target.config, work, staged, rows, constraints=publisher.constraints
        )
        driver = _DRIVERS[statement.kind]
        return driver(amending, packaged_macros(), handle, handle.spark, statement, target).run()


def stage(
    statement: Statement,
    name: TableName,
    session: SparkSession,
    handle: SessionHandle,
    kernel: Kernel,
    hand_over: HandOver,
) -> Staged:
    """Stage what a statement makes of the table's newest version, if it changes anything.

    Args:
        session, handle: as of :func:`carry_out`; no other table's changes are staged in the handle's session.
        hand_over: gets the staged transaction.

    Raises:
        CommitConflict: the table has moved on; stage it again.
        LakemergeError, PySparkException: as of :func:`carry_out`.
    """
    with typed_failures():
        return Staged.by(_driver(statement, name, session, handle, packaged_macros(), kernel, hand_over))


def _driver(
    statement: Statement,
    name: TableName,
    session: SparkSession,
    handle: SessionHandle,
    macros: Macros,
    kernel: Kernel,
    commit: Publish = Transaction.commit,
) -> RowChanges:
    driver, main = _DRIVERS[statement.kind], quarantine_of(kernel.metastore, name)
    if main is not None:
        driver, target = QuarantineDelete, Target(name, WriteConfig())
    else:
        target = target_of(kernel, statement, name)
    publisher: Publisher[Any] = Publisher(
        handle, kernel, main or name, target.config, constraints=target.constraints, commit=commit
    )
    if statement.erases and isinstance(target.config, Scd2MergeConfig):
        driver = EraseVersions
    return driver(publisher, macros, handle, session, statement, target)
