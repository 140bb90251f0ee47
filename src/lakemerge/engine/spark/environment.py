"""Checks of the machine before Spark starts.

Spark needs minutes of retries to find out what a check of a socket or a lock shows immediately, and leaves
half-made folders behind. These checks create nothing unless all of them pass.
"""

from __future__ import annotations

import errno
import os
import socket
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from lakemerge.engine.spark.configuration import Configuration, thrift_addresses
from lakemerge.errors import (
    InvalidConfig,
    MetastoreError,
    MetastoreLocked,
    MetastoreUnreachable,
    WarehouseUnwritable,
)
from lakemerge.java import ensure_java

_CONNECT_SECONDS = 3.0
_FULL = (errno.ENOSPC, errno.EDQUOT)

# What a folder is for, and the setting of the profile that names another one.
_FOR_METASTORE = ("the embedded metastore", "`metastore`")
_FOR_TABLES = ("the warehouse", "`warehouse`")


def check(configuration: Configuration) -> None:
    """Check the settings, Java, the metastore and the warehouse, in this order.

    Raises:
        InvalidConfig: a setting is meant to name the metastore, but Spark would open another one.
        JavaNotFound, JavaUnsupported: there is no Java that Spark runs on.
        MetastoreUnreachable: nothing listens at any of the metastore's addresses.
        MetastoreError: the embedded metastore was not created completely.
        MetastoreLocked: the embedded metastore is open in another process.
        WarehouseUnwritable: the warehouse or the embedded metastore's folder cannot be written.
    """
    for name in configuration.unread:
        raise InvalidConfig(
            expected=f"the metastore to be named by spark.hadoop.{name.removeprefix('spark.')}",
            found=f"{name}, which Spark does not read",
            action="Put spark.hadoop. before the name, or set `metastore` in the profile.",
        )
    ensure_java()
    if configuration.metastore_uris:
        check_reachable(configuration.metastore_uris)
    if configuration.derby:
        check_whole(configuration.derby)
        check_unlocked(configuration.derby)
        check_writable(configuration.derby.parent, _FOR_METASTORE)
    if configuration.warehouse:
        check_writable(configuration.warehouse, _FOR_TABLES)


def check_reachable(uris: str) -> None:
    """Check that one of these addresses accepts a connection.

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


def check_whole(derby: Path) -> None:
    """Check that a Derby database, if there is one, was created completely.

    Raises:
        MetastoreError: there is a folder, but Derby could not open it.
    """
    # the last file that Derby writes when it makes a database, and the first that it reads
    if derby.exists() and not (derby / "service.properties").is_file():
        raise MetastoreError(
            expected=f"the embedded metastore {derby}, or no such folder",
            found="one without service.properties, which an interrupted first start leaves behind",
            action="There are no tables in it: remove the folder and run again, or set `metastore` in the profile.",
        )


def check_unlocked(derby: Path) -> None:
    """Check that no other process has this Derby database open.

    Raises:
        MetastoreLocked: another process has it open.
    """
    if _is_locked(derby / "dbex.lck"):
        raise locked(derby, "it open in another process")


def locked(derby: Path | None, found: str) -> MetastoreLocked:
    """The error for a Derby database that is open elsewhere."""
    return MetastoreLocked(
        expected=f"the embedded metastore {derby} to be free"
        if derby
        else "the embedded metastore to be free",
        found=found,
        action="Wait for that process or end it (one process at a time can use an embedded metastore), "
        "or set `metastore: thrift://host:port` in the profile.",
    )


def _is_locked(path: Path) -> bool:
    # Derby holds a lock on this file while it has the database open, and leaves the file behind
    # when it is killed. Windows has no such locks; there the start of Spark fails.
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


def check_writable(folder: Path, purpose: tuple[str, str] = _FOR_TABLES) -> None:
    """Make sure that a folder is there and that files can be made in it.

    Args:
        purpose: what it is for, and what in the profile names it.

    Raises:
        WarehouseUnwritable: files cannot be made in it, and nothing was made.
    """
    existing = folder
    while not existing.exists() and existing != existing.parent:
        existing = existing.parent
    if not existing.is_dir():
        raise _unwritable(folder, f"{existing}, which is no folder", purpose)
    if not os.access(existing, os.W_OK | os.X_OK):
        raise _unwritable(folder, f"no permission to write in {existing}", purpose)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        # a full disk may still be read, and vacuum may free some of it
        if error.errno not in _FULL:
            raise _unwritable(folder, error.strerror or str(error), purpose) from error


def _unwritable(folder: Path, found: str, purpose: tuple[str, str]) -> WarehouseUnwritable:
    what, setting = purpose
    return WarehouseUnwritable(
        expected=f"a folder for {what} that can be written, {folder}",
        found=found,
        action=f"Give this user the right to write there, or set {setting} in the profile to another one.",
    )


@contextmanager
def removing_new_folders(*folders: Path | None) -> Iterator[None]:
    """Remove these folders and their parents if they are created inside the block and left empty."""
    new = {above for folder in folders if folder for above in (folder, *folder.parents) if not above.exists()}
    try:
        yield
    finally:
        for folder in sorted(new, key=lambda path: len(path.parts), reverse=True):
            with suppress(OSError):
                folder.rmdir()
