"""The commits of a table, as rows."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING, Any

from lakemerge.engine.spark.small_frames import small_frame
from lakemerge.kernel import Kernel, Manifest, Ports, TableName, each_version

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_COLUMNS = (
    "version",
    "operation",
    "committed_at",
    "tags",
    "node",
    "agent",
    "invocation_id",
    "statement",
    "partitions",
    "files",
    "bytes",
    "metrics",
    "txn",
    "group",
)


def history_of(ports: Ports, name: TableName, most: int | None) -> list[dict[str, Any]]:
    """The table's commits, the newest first; at most so many of them.

    Raises:
        TableNotFound, UnsupportedTable: it is not there, or has no versions.
    """
    versions = each_version(Kernel(ports), name)
    found, tags = [], None
    for commit in itertools.islice(versions, most):
        # the newest version has the names of all
        tags = _names_of_versions(commit) if tags is None else tags
        found.append(_shown(commit, tags.get(commit.txn, [])))
    return found


def history_frame(spark: SparkSession, ports: Ports, name: TableName) -> DataFrame:
    """The table's commits as a frame, with the columns that :func:`history_of` gives. Raises as that."""
    commits = history_of(ports, name, None)
    nested = {"tags": "array<string>", "metrics": "map<string, bigint>"}
    numbers = ("version", "partitions", "files", "bytes")
    kinds = {column: "int64" if column in numbers else "string" for column in _COLUMNS}
    rows = [[json.dumps(one[key]) if key in nested else one[key] for key in _COLUMNS] for one in commits]
    typed = {
        **{key: f"from_json({key}, '{kind}')" for key, kind in nested.items()},
        "committed_at": "cast(committed_at as timestamp)",
    }
    frame = small_frame(spark, rows, kinds)
    return frame.selectExpr(*(f"{typed.get(column, column)} as {column}" for column in _COLUMNS))


def _names_of_versions(newest: Manifest) -> dict[str, list[str]]:
    """The tags, by the transactions of their versions."""
    found: dict[str, list[str]] = {}
    for tag, reference in sorted(newest.references.items()):
        found.setdefault(reference.txn, []).append(tag)
    return found


def _shown(commit: Manifest, tags: list[str]) -> dict[str, Any]:
    return {
        "version": commit.version,
        "operation": commit.operation,
        "committed_at": commit.committed_at,
        "tags": tags,
        "node": commit.writer.get("node", ""),
        "agent": commit.writer.get("agent", ""),
        "invocation_id": commit.writer.get("invocation_id", ""),
        "statement": commit.writer.get("statement", ""),
        "partitions": len(commit.touched),
        "files": commit.total_files,
        "bytes": commit.total_bytes,
        "metrics": dict(commit.metrics),
        "txn": commit.txn,
        "group": commit.group or "",
    }
