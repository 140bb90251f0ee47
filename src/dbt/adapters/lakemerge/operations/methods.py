"""The adapter's methods for operations on tables as a whole: their history, recovery, vacuum, drop."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from dbt.adapters.base import available
from dbt.adapters.lakemerge import staged_names
from dbt.adapters.lakemerge.operations.commit_times import version_at
from dbt.adapters.lakemerge.options.reader import OptionReader, config_errors
from dbt.adapters.lakemerge.publish.capability import Capability
from dbt.adapters.lakemerge.relation import LakemergeRelation
from dbt_common.exceptions import DbtRuntimeError

from lakemerge.kernel import committed_tables, drop, history, last_change, vacuum


class OperationMethods(Capability):
    """``adapter.operations``; see the macros of `dbt run-operation` for its use."""

    @available.parse(lambda *args, **kwargs: {"result": None, "error": ""})
    def attempt(self, method: Callable[..., Any], *args: Any) -> dict[str, Any]:
        """Call a method of the adapter, for operations that go on with the next table when one fails.

        Returns:
            ``result``, and the text of the ``error``; empty where there is none.
        """
        try:
            return {"result": method(*args), "error": ""}
        except DbtRuntimeError as error:
            return {"result": None, "error": str(error).strip()}

    @available.parse(lambda *args, **kwargs: False)
    def has_versions(self, relation: LakemergeRelation) -> bool:
        """Whether a table is there, and lakemerge has committed to it."""
        with self.guarded():
            kernel, name = self.kernel(), relation.table_name
            return kernel.exists(name) and kernel.current_state(name) is not None

    @available.parse_list
    def committed_tables(self, chosen: LakemergeRelation) -> list[LakemergeRelation]:
        """The tables of a schema that lakemerge has committed to, by a name in which ``*`` stands for any text.

        A name without ``*`` is taken as it is.
        """
        with self.guarded():
            found = committed_tables(self.handle.application.metastore, chosen.table_name)
        return [chosen.incorporate(path={"identifier": name.name}) for name in found]

    def last_change(self, source: LakemergeRelation) -> datetime:
        """When a source's rows changed last.

        Raises:
            DbtRuntimeError: there is no such table, or it is a view.
        """
        name = source.table_name
        with self.guarded(f"freshness of {name}"):
            return last_change(self.kernel(), name)

    @available.parse_none
    def drop(self, relation: LakemergeRelation) -> None:
        """Drop a table with all its versions; does nothing where there is none."""
        with self.guarded():
            staged_names.require_published(relation.table_name, "drop")
            drop(self.kernel(), relation.table_name)

    @available.parse_list
    def history(self, relation: LakemergeRelation, limit: int | None = None) -> list[dict[str, Any]]:
        """The table's commits, the newest first."""
        name = relation.table_name
        with self.guarded():
            commits = history(self.kernel(), name, limit)
        return [
            {
                "version": commit.version,
                "operation": commit.operation,
                "committed_at": commit.committed_at,
                "node": commit.writer.get("node", ""),
                "partitions": len(commit.touched),
                "files": commit.total_files,
                "bytes": commit.total_bytes,
                "metrics": dict(commit.metrics),
                "txn": commit.txn,
            }
            for commit in commits
        ]

    @available.parse(lambda *args, **kwargs: 0)
    def version_at(self, relation: LakemergeRelation, at: str) -> int:
        """The version that the table had at a time (ISO 8601; UTC unless it says otherwise); 0 before the first.

        Raises:
            DbtRuntimeError: the text is no time, or the commits of that time are vacuumed.
        """
        with self.guarded():
            commits = history(self.kernel(), relation.table_name, None)
            return version_at(commits, at)

    @available.parse_list
    def recover(self, relation: LakemergeRelation) -> list[str]:
        """Finish what a dead writer left; returns what was done, a line each."""
        with self.guarded():
            return self.kernel().recover(relation.table_name)

    @available.parse_list
    def vacuum(
        self,
        relation: LakemergeRelation,
        retention_hours: float = 168,
        retain_last: int = 1,
        max_bytes: Any = None,
        dry_run: bool = True,
    ) -> list[dict[str, Any]]:
        """Free (or only list) the files that no kept version needs; see :func:`lakemerge.kernel.vacuum`.

        Args:
            max_bytes: bytes, or a size such as ``10gb``.
        """
        problems: list[str] = []
        reader = OptionReader({"max_bytes": max_bytes, "retain_last": retain_last}, problems)
        with config_errors():
            limit, last = reader.size("max_bytes", 0) or None, reader.count("retain_last", 1, least=1)
            reader.require_sound("valid arguments", "Correct these arguments.")
        with self.guarded():
            garbage = vacuum(
                self.kernel(),
                relation.table_name,
                retention=timedelta(hours=float(retention_hours)),
                retain_last=last,
                max_bytes=limit,
                dry_run=dry_run,
            )
        return [dataclasses.asdict(item) for item in garbage]
