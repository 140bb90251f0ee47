"""The commits of a table, as rows."""

from __future__ import annotations

import itertools
from typing import Any

from lakemerge.kernel import Kernel, Manifest, Ports, TableName, each_version


def history_of(ports: Ports, name: TableName, most: int | None) -> list[dict[str, Any]]:
    """The table's commits, the newest first; at most so many of them.

    Raises:
        TableNotFound, UnsupportedTable: it is not there, or has no versions.
    """
    return [_shown(commit) for commit in itertools.islice(each_version(Kernel(ports), name), most)]


def _shown(commit: Manifest) -> dict[str, Any]:
    return {
        "version": commit.version,
        "operation": commit.operation,
        "committed_at": commit.committed_at,
        "node": commit.writer.get("node", ""),
        "statement": commit.writer.get("statement", ""),
        "partitions": len(commit.touched),
        "files": commit.total_files,
        "bytes": commit.total_bytes,
        "metrics": dict(commit.metrics),
        "txn": commit.txn,
    }
