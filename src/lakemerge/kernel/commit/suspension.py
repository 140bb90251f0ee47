"""Complete transactions that wait until somebody decides about them: suspended, previewed, resumed or left."""

from __future__ import annotations

import logging

from lakemerge.errors import InvalidTransactionState, StorageError
from lakemerge.kernel.commit.transaction import Transaction
from lakemerge.kernel.ports.filesystem import log_level
from lakemerge.kernel.ports.system import timestamp
from lakemerge.kernel.table.manifest import Manifest
from lakemerge.kernel.table.staged_version import StagedVersion

_LOG = logging.getLogger("lakemerge")


def preview(transaction: Transaction) -> Manifest:
    """The version that a transaction would make, if it directly followed the version that it was started on.

    Nothing is written, and the metastore is not asked.
    """
    transaction._require_open()
    tables = transaction._tables
    return transaction._commit.manifest_after(
        transaction.base,
        (),
        committed_at=timestamp(tables.clock),
        writer=tables.writer,
        lease_seconds=tables.settings.lease_seconds,
    )


def suspend(transaction: Transaction) -> Manifest:
    """Let a complete transaction wait. Its heartbeat goes on, and aborting it does nothing meanwhile.

    People look at what it would make meanwhile, so exactly that must be published later: a commit that changes rows of
    the table in between is a conflict, whatever partitions it touches.

    Returns:
        The version that it would make; a file beside the table's records it for other processes.

    Raises:
        StorageError: the file could not be written; the transaction is still open.
    """
    manifest = preview(transaction)
    transaction.follow_same_rows()
    transaction._staging.open()
    transaction._staging.tell(StagedVersion(manifest))
    transaction.state = "suspended"
    return manifest


def resume(transaction: Transaction) -> None:
    """Let a suspended transaction be open again, to be committed or aborted.

    Raises:
        InvalidTransactionState: it is not suspended.
    """
    if transaction.state != "suspended":
        raise InvalidTransactionState(
            expected="a suspended transaction",
            found=f"one that is {transaction.state}",
            action="Resume each transaction once.",
        )
    transaction.state = "open"


def leave(transaction: Transaction, reason: str) -> None:
    """Give a transaction up, and leave what it has staged to be looked at, until it is discarded or vacuumed.

    Does nothing after the end of the transaction.

    Args:
        reason: why, for people.
    """
    if transaction.state == "suspended":
        resume(transaction)
    if transaction.state != "open":
        return
    files, layout = transaction._tables.files, transaction.layout
    try:
        transaction._staging.tell(StagedVersion(preview(transaction), reason))
        if not transaction._commit.claim_sent:
            for path in (layout.manifest_of(transaction.txn), *transaction._group_record()):
                files.delete(path)
    except StorageError as error:  # what ended the transaction matters more; vacuum removes what stays
        _LOG.log(log_level(error), "The staged rows could not be kept for inspection: %s", error)
    transaction.state = "left"
    transaction._staging.close(stays_told=True)
