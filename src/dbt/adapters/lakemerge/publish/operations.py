"""The adapter's methods for operations on tables as a whole: their history, recovery, vacuum, drop."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from dbt.adapters.base import available
from dbt.adapters.lakemerge.options.reader import OptionReader, config_errors
from dbt.adapters.lakemerge.publish.commit_times import version_at
from dbt.adapters.lakemerge.publish.methods import PublishingMethods
from dbt.adapters.lakemerge.relation import LakemergeRelation
from dbt_common.exceptions import DbtRuntimeError

from lakemerge.kernel import committed_tables, drop, history, vacuum


class OperationMethods(PublishingMethods):
    """A mixin of the adapter; see the macros of `dbt run-operation` for its use."""

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
        with self._guarded():
            kernel, name = self._kernel({}, None), relation.table_name
            return kernel.exists(name) and kernel.current_state(name) is not None

    @available.parse_list
    def committed_tables(self, chosen: LakemergeRelation) -> list[LakemergeRelation]:
        """The tables of a schema that lakemerge has committed to, by a name in which ``*`` stands for any text.

        A name without ``*`` is taken as it is.
        """
        with self._guarded():
            found = committed_tables(self.handle.application.metastore, chosen.table_name)
        return [chosen.incorporate(path={"identifier": name.name}) for name in found]

    @available.parse_none
    def drop_table(self, relation: LakemergeRelation) -> None:
        """Drop a table with all its versions; nothing where there is none."""
        with self._guarded():
            drop(self._kernel({}, None), relation.table_name)

    @available.parse_list
    def table_history(self, relation: LakemergeRelation, limit: int | None = None) -> list[dict[str, Any]]:
        """The table's commits, the newest first."""
        name = relation.table_name
        with self._guarded():
            commits = history(self._kernel({}, None), name, limit)
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
        with self._guarded():
            commits = history(self._kernel({}, None), relation.table_name, None)
            return version_at(commits, at)

    @available.parse_list
    def recover_table(self, relation: LakemergeRelation) -> list[str]:
        """Finish what a dead writer left; returns what was done, a line each."""
        with self._guarded():
            return self._kernel({}, None).recover(relation.table_name)

    @available.parse_list
    def vacuum_table(
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
        with self._guarded():
            garbage = vacuum(
                self._kernel({}, None),
                relation.table_name,
                retention=timedelta(hours=float(retention_hours)),
                retain_last=last,
                max_bytes=limit,
                dry_run=dry_run,
            )
        return [dataclasses.asdict(item) for item in garbage]
