"""What maintenance does to each of the tables that a program names: one that fails does not stop the others."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from lakemerge.engine.failures import failures, text_of, typed_failure
from lakemerge.engine.maintenance.table_compaction import CompactionOptions, TableCompaction
from lakemerge.engine.operations.arguments import VacuumArguments, check_flags
from lakemerge.engine.packaged_macros import packaged_macros
from lakemerge.engine.publish.publisher import Publisher
from lakemerge.engine.spark.beside import session_beside
from lakemerge.engine.spark.session import application_of
from lakemerge.errors import InvalidConfig
from lakemerge.kernel import Kernel, ReadOnlyKernel, Settings, TableName, committed_tables, vacuum

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOG = logging.getLogger("lakemerge")
# The fields of a record of the compaction log that a row has unchanged.
_NUMBERS = ("files_before", "files_after", "bytes_before", "bytes_after", "rows", "left")

Row = dict[str, Any]


def compact_tables(
    spark: SparkSession,
    names: Sequence[str],
    exclude: Sequence[str],
    arguments: Mapping[str, Any],
    *,
    target_file_size: Any,
    dry_run: bool,
) -> list[Row]:
    """The work of :func:`lakemerge.compact`."""
    check_flags({"dry_run": dry_run})
    options = CompactionOptions.of({"target_file_size": target_file_size}, **arguments)
    kernel = _kernel(spark, "lakemerge.compact", dry_run=dry_run)

    def compact(name: TableName) -> list[Row]:
        if kernel.current_state(name) is None:
            return []
        with session_beside(spark, f"compaction of {name}") as handle:
            publisher = Publisher(handle, kernel, name, options.config, constraints={})
            compaction = TableCompaction(publisher, packaged_macros(), options)
            found = (compaction.planned() if dry_run else compaction.run()) or {}
        done = [found[part] for part in ("deltas", "files") if found.get(part)]
        actions = {"action": options.order.action, "state": "needed"}
        return [_compacted({**actions, **record}) for record in done]

    return _each(kernel, names, exclude, compact, _compacted({"action": options.order.action}))


def vacuum_tables(
    spark: SparkSession,
    names: Sequence[str],
    exclude: Sequence[str],
    *,
    retention_hours: float,
    retain_last: int,
    max_bytes: Any,
    dry_run: bool,
    allow_short_retention: bool,
) -> list[Row]:
    """The work of :func:`lakemerge.vacuum`."""
    arguments = VacuumArguments.of(retention_hours, retain_last, max_bytes)
    check_flags({"dry_run": dry_run, "allow_short_retention": allow_short_retention})
    kernel = _kernel(spark, "lakemerge.vacuum", dry_run=dry_run)

    def free(name: TableName) -> list[Row]:
        if kernel.current_state(name) is None:
            return []
        garbage = vacuum(
            kernel,
            name,
            retention=arguments.retention,
            retain_last=arguments.retain_last,
            max_bytes=arguments.max_bytes,
            dry_run=dry_run,
            allow_short_retention=allow_short_retention,
        )
        freed = sum(item.size for item in garbage)
        row = {"state": "needed" if dry_run else "done", "items": len(garbage), "bytes": freed}
        return [_VACUUMED | row] if garbage else []

    return _each(kernel, names, exclude, free, _VACUUMED)


def _each(
    kernel: Kernel,
    names: Iterable[str],
    exclude: Iterable[str],
    work: Callable[[TableName], list[Row]],
    failed: Row,
) -> list[Row]:
    """The rows of each table; for a table that fails, a row that says why."""
    rows: list[Row] = []
    for name in _selected(kernel, names, exclude):
        try:
            found = work(name)
        except failures() as error:
            reason = text_of(typed_failure(error) or error)
            _LOG.warning("%s: %s; the next table is worked on", name, reason)
            found = [{**failed, "state": "failed", "error": reason}]
        rows += [{"table_name": str(name), **row} for row in found]
    return rows


def _selected(kernel: Kernel, names: Iterable[str], exclude: Iterable[str]) -> list[TableName]:
    """The tables that match ``names`` (``*`` stands for any text) and none of ``exclude``. Raises InvalidConfig."""
    chosen, without = [_qualified(name) for name in names], [_qualified(name) for name in exclude]
    if not chosen:
        raise InvalidConfig(
            expected="the names of tables, as schema.table or schema.*",
            found="none",
            action='Name them: lakemerge.compact("shop.*").',
        )
    found = [name for one in chosen for name in committed_tables(kernel.metastore, one)]
    return [
        name
        for name in dict.fromkeys(found)
        if not any(one.schema == name.schema and fnmatchcase(name.name, one.name) for one in without)
    ]


def _qualified(text: str) -> TableName:
    name = TableName.parse(text, "")
    if not name.schema or "*" in name.schema:
        raise InvalidConfig(
            expected="names of tables as schema.table, in which * stands for any text of the table's name",
            found=repr(text),
            action='Write the schema in full: "shop.*", "shop.raw_*" or "shop.orders".',
        )
    return name


def _kernel(spark: SparkSession, agent: str, *, dry_run: bool) -> Kernel:
    kind = ReadOnlyKernel if dry_run else Kernel
    return kind(application_of(spark).ports, Settings(writer={"agent": agent}))


_VACUUMED: Row = {"state": "", "items": 0, "bytes": 0, "error": None}


def _compacted(record: Mapping[str, Any]) -> Row:
    """A record of the compaction log, or what a dry run has found, as a row."""
    began = record.get("started_at")
    return {
        "action": record["action"],
        "state": record.get("state", ""),
        "started_at": datetime.fromisoformat(began) if began else None,
        "seconds": record.get("seconds"),
        **{name: record.get(name) for name in _NUMBERS},
        "error": record.get("error") or None,
    }
