"""Which disk is full: the system's error does not say, and Spark writes to several."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from lakemerge.engine.spark.configuration import Configuration

_FULL = re.compile(r"no space left|quota exceeded|not enough space on the disk", re.IGNORECASE)
# What comes from a database that is in this process. With a full disk, Derby says that it is read only, or has no
# connection left.
_OF_DATABASE = re.compile(r"MetaException|HiveException|SQLException|JDO\w*Exception|derby")
# A disk with less than this is taken to be full: Spark writes in larger pieces.
_LEAST_FREE = 2**20
_JAVA_FOLDER = re.compile(r"-Djava\.io\.tmpdir=(\S+)")


def local_folders(configuration: Configuration, environment: Mapping[str, str]) -> list[Path]:
    """The folders of this machine that Spark writes to: temporary files, the metastore's, the warehouse."""
    settings = configuration.application
    options = settings.get("spark.driver.extraJavaOptions", "")
    temporary = found[1] if (found := _JAVA_FOLDER.search(options)) else "/tmp"
    named = environment.get("SPARK_LOCAL_DIRS") or settings.get("spark.local.dir") or temporary
    folders = [Path(name.strip()) for name in (*named.split(","), temporary) if name.strip()]
    others = (configuration.derby and configuration.derby.parent, configuration.warehouse)
    return list(dict.fromkeys([*folders, *(folder for folder in others if folder)]))


def with_full_disks(text: str, folders: Iterable[Path], database: Path | None = None) -> str:
    """The text of an error; if it says that a disk is full, with those of the folders that lie on a full one.

    A quota cannot be seen from outside: where no disk looks full, all folders are named.

    Args:
        database: the folder of an embedded metastore, which fails with other texts when its disk is full.
    """
    known = list(folders)
    if known and _FULL.search(text):
        full = [folder for folder in known if _is_full(folder)]
        return _with(text, full or known, "" if full else "one of ")
    if database is not None and _OF_DATABASE.search(text) and _is_full(database):
        return _with(text, [database])
    return text


def _with(text: str, folders: list[Path], which: str = "") -> str:
    return f"{text}\nThere is no space left for {which}{', '.join(map(str, folders))}. Free some first."


def _is_full(folder: Path) -> bool:
    existing = _existing(folder)
    try:
        return shutil.disk_usage(existing).free < _LEAST_FREE or _has_no_inode(existing)
    except OSError:
        return False


def _has_no_inode(folder: Path) -> bool:
    if sys.platform == "win32":
        return False
    status = os.statvfs(folder)
    # file systems that make inodes as they need them have a number of 0
    return status.f_files > 0 and status.f_favail == 0


def _existing(folder: Path) -> Path:
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return folder
