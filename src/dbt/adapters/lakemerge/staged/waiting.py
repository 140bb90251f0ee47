"""A version of a table that waits for the end of the run, and statements of its node's hooks that change it."""

from __future__ import annotations

import dataclasses

from dbt.adapters.lakemerge import staged_names
from dbt.adapters.lakemerge.staged.rows import GlobalView, define_rows
from dbt.adapters.lakemerge.staged.run import StagedTable, staged_run

from lakemerge.engine.lifecycle import Lifecycle
from lakemerge.engine.packaged_macros import packaged_macros
from lakemerge.engine.publish.result import CommitResult
from lakemerge.engine.spark.handle import SessionHandle
from lakemerge.engine.statements import run as statements
from lakemerge.engine.statements.parsing import Statement
from lakemerge.engine.statements.target import name_of
from lakemerge.kernel import (
    Kernel,
    Manifest,
    Settings,
    TableName,
    Transaction,
    discard_left,
    find_row,
    new_spelling,
    resume,
    spelling_of,
    suspend,
)


def let_wait(
    handle: SessionHandle, life: Lifecycle, transaction: Transaction, manifest: Manifest, unique_id: str
) -> None:
    """Let a suspended transaction wait for the end of the run, and the run's other nodes read its rows meanwhile.

    Args:
        handle: of the session in which the node is built.
        manifest: the version that the transaction would make.
        unique_id: dbt's, of the node.
    """

    def finish() -> None:
        try:
            life.follow()
        finally:
            handle.release()

    run = staged_run()  # before its views are made: what an earlier run has left is dropped by its name
    try:
        discard_left(life.publisher.kernel, transaction.layout)
        rows = _define(handle, life, transaction, manifest)
        run.add(StagedTable(transaction.name, unique_id, rows, transaction, manifest, life, [finish]))
    except BaseException:
        resume(transaction)
        transaction.abort()
        raise


def change_waiting(handle: SessionHandle, statement: Statement, settings: Settings) -> CommitResult | None:
    """Carry out a statement of a hook on the table that its node has just built, as a part of what is published later.

    Args:
        handle: of the session in which the node is built.

    Returns:
        What it did; ``None``, and nothing done, for a table of which nothing is staged.

    Raises:
        InvalidTransactionState: another node has staged the table, or it is a view.
        LakemergeError, PySparkException: nothing was changed.
    """
    name = staged_names.table_meant(statement.target) or name_of(handle.spark, statement.target)
    if name is None:
        return None
    run = staged_run()
    found = run.find(name)
    if isinstance(found, StagedTable) and found.unique_id == handle.name:
        return _amend(handle, found, statement)
    if run.is_unchanged(name, handle.name):
        return _stage(handle, name, statement, settings)
    staged_names.require_published(name, f"{statement.kind} rows of")
    return None


def _stage(handle: SessionHandle, name: TableName, statement: Statement, settings: Settings) -> CommitResult:
    """Stage what a statement makes of the published rows, where the node itself had nothing to write."""
    waiting: list[tuple[Transaction, Manifest]] = []
    kernel = Kernel(handle.application.ports, settings)
    life = statements.life_of(
        statement,
        name,
        handle.spark,
        handle,
        packaged_macros(),
        kernel,
        lambda one: waiting.append((one, suspend(one))),
    )
    done = life.commit()
    for transaction, manifest in waiting:
        let_wait(handle, life, transaction, manifest, handle.name)
    return done


def _amend(handle: SessionHandle, table: StagedTable, statement: Statement) -> CommitResult:
    """Let a statement change what is staged."""
    transaction, manifest = table.transaction, table.manifest
    resume(transaction)
    try:
        done = statements.amend(statement, table.life, manifest, table.rows.name, handle)
    finally:
        if transaction.state == "open":
            manifest = suspend(transaction)
    table.rows.drop()
    rows = _define(handle, table.life, transaction, manifest)
    staged_run().replace(dataclasses.replace(table, rows=rows, manifest=manifest))
    return done


def _define(
    handle: SessionHandle, life: Lifecycle, transaction: Transaction, manifest: Manifest
) -> GlobalView:
    """Make the view of the rows that the table would have."""
    name = transaction.name
    row = find_row(life.publisher.kernel.metastore, name)
    spelling = {**(spelling_of(row) if row else {}), **new_spelling(transaction)}
    return define_rows(handle.spark, name, transaction.layout, manifest, spelling, like=name)
