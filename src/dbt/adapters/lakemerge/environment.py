"""What can be wrong with the machine, looked at before Spark starts.

Spark needs minutes of retries to say what a look at a socket or a lock says at once, and leaves
half-made folders behind. Nothing here makes anything unless all is well.
"""

from __future__ import annotations

import os
import socket
import sys
import tempfile
from pathlib import Path

from dbt.adapters.lakemerge.configuration import Configuration
from dbt.adapters.lakemerge.credentials import thrift_addresses

from lakemerge.errors import MetastoreLocked, MetastoreUnreachable, WarehouseUnwritable
from lakemerge.java import ensure_java

_CONNECT_SECONDS = 3.0


def check(configuration: Configuration) -> None:
    """Check Java, the metastore and the warehouse, in this order.

    Raises:
        JavaNotFound, JavaUnsupported: there is no Java that Spark runs on.
        MetastoreUnreachable: nothing listens at any of the metastore's addresses.
        MetastoreLocked: the embedded metastore is open in another process.
        WarehouseUnwritable: the warehouse or the embedded metastore's folder cannot be written.
    """
    ensure_java()
    if configuration.metastore_uris:
        check_reachable(configuration.metastore_uris)
    if configuration.derby:
        check_unlocked(configuration.derby)
        check_writable(configuration.derby.parent)
    if configuration.warehouse:
        check_writable(configuration.warehouse)


def check_reachable(uris: str) -> None:
    """Whether one of these addresses accepts a connection.

    Raises:
        MetastoreUnreachable: none does.
    """
    failures = []
    for host, port in thrift_addresses(uris):
        try:
            socket.create_connection((host, port), timeout=_CONNECT_SECONDS).close()
        except OSError as error:
            failures.append(f"{host}:{port} ({error.strerror or error})")
        else:
            return
    if failures:
        raise MetastoreUnreachable(
            expected="a Hive metastore that accepts connections",
            found=f"no answer from {', '.join(failures)}",
            action="Start it, or correct `metastore` in the profile (or hive.metastore.uris).",
        )


def check_unlocked(derby: Path) -> None:
    """Whether no other process has this Derby database open.

    Raises:
        MetastoreLocked: one has.
    """
    if _is_locked(derby / "dbex.lck"):
        raise locked(derby, "it open in another process")


def locked(derby: Path | None, found: str) -> MetastoreLocked:
    """The error for a Derby database that is open elsewhere."""
    return MetastoreLocked(
        expected=f"the embedded metastore {derby or ''} to be free",
        found=found,
        action="Wait for that process or end it (one process at a time can use an embedded metastore), "
        "or set `metastore: thrift://host:port` in the profile.",
    )


def _is_locked(path: Path) -> bool:
    # Derby holds a lock on this file while it has the database open, and leaves the file behind
    # when it is killed. Windows has no such locks; there the start of Spark tells.
    if sys.platform == "win32" or not path.is_file():
        return False
    import fcntl

    try:
        with path.open("r+b") as file:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except PermissionError:
        return False
    except OSError:
        return True
    return False


def check_writable(folder: Path) -> None:
    """Make sure that a folder is there and that files can be made in it.

    Raises:
        WarehouseUnwritable: it is not, and nothing was made.
    """
    existing = folder
    while not existing.exists() and existing != existing.parent:
        existing = existing.parent
    if not existing.is_dir():
        raise _unwritable(folder, f"{existing}, which is no folder")
    if not os.access(existing, os.W_OK | os.X_OK):
        raise _unwritable(folder, f"no permission to write in {existing}")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise _unwritable(folder, error.strerror or str(error)) from error


def _unwritable(folder: Path, found: str) -> WarehouseUnwritable:
    return WarehouseUnwritable(
        expected=f"a warehouse that can be written, {folder}",
        found=found,
        action="Give this user the right to write there, or set `warehouse` in the profile.",
    )
