"""The adapter's methods for operations on tables as a whole: their history, recovery, vacuum, drop."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from dbt.adapters.base import available
from dbt.adapters.lakemerge import staged_names
from dbt.adapters.lakemerge.capability import Capability
from dbt.adapters.lakemerge.dbt_errors import config_errors
from dbt.adapters.lakemerge.relation import LakemergeRelation
from dbt_common.exceptions import DbtRuntimeError

from lakemerge.engine.erasure.erase import erase_rows
from lakemerge.engine.operations.arguments import VacuumArguments, check_flags, limit_of
from lakemerge.engine.operations.commit_times import version_at
from lakemerge.engine.operations.history import history_of
from lakemerge.kernel import (
    TableName,
    commits_of,
    committed_tables,
    drop,
    last_change,
    vacuum,
)


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

    @available.parse_none
    def check_flags(self, flags: Mapping[str, Any]) -> None:
        """Check that these arguments of an operation are true or false. Raises CompilationError."""
        with config_errors():
            check_flags(flags)

    @available.parse_none
    def table_named(self, text: str) -> LakemergeRelation:
        """The table of a name as people write it: `table`, in the target's schema, or `schema.table`."""
        with config_errors():
            name = TableName.parse(text, str(self.host.config.credentials.schema))
        return LakemergeRelation.create(
            schema=name.schema, identifier=name.name, type=LakemergeRelation.Table
        )

    @available.parse(lambda *args, **kwargs: False)
    def has_versions(self, relation: LakemergeRelation, dry_run: bool = False) -> bool:
        """Whether a table is there, and lakemerge has committed to it.

        Args:
            dry_run: change nothing, so that a table whose metastore entry a dead writer has taken away is not found.
        """
        kernel, name = self.kernel(dry_run=dry_run), relation.table_name
        return kernel.exists(name) and kernel.current_state(name) is not None

    @available.parse_list
    def committed_tables(self, chosen: LakemergeRelation) -> list[LakemergeRelation]:
        """The tables of a schema that lakemerge has committed to, by a name in which ``*`` stands for any text.

        A name without ``*`` is taken as it is.
        """
        found = committed_tables(self.handle.application.metastore, chosen.table_name)
        return [chosen.incorporate(path={"identifier": name.name}) for name in found]

    def last_change(self, source: LakemergeRelation) -> datetime:
        """When a source's rows changed last.

        Raises:
            DbtRuntimeError: there is no such table, or it is a view.
        """
        name = source.table_name
        return last_change(self.kernel(), name)

    @available.parse_none
    def drop(self, relation: LakemergeRelation) -> None:
        """Drop a table with all its versions; does nothing where there is none."""
        staged_names.require_published(relation.table_name, "drop")
        drop(self.kernel(), relation.table_name)

    @available.parse_list
    def history(self, relation: LakemergeRelation, limit: int | None = None) -> list[dict[str, Any]]:
        """The table's commits, the newest first."""
        with config_errors():
            most = limit_of(limit)
        return history_of(self.handle.application.ports, relation.table_name, most)

    @available.parse(lambda *args, **kwargs: 0)
    def version_at(self, relation: LakemergeRelation, at: str) -> int:
        """The version that the table had at a time (ISO 8601; UTC unless it says otherwise); 0 before the first.

        Raises:
            DbtRuntimeError: the text is no time, or the commits of that time are vacuumed.
        """
        return version_at(commits_of(self.kernel(), relation.table_name), at)

    @available.parse_list
    def recover(self, relation: LakemergeRelation, undo_refused: bool = False) -> list[str]:
        """Finish what a dead writer left; returns what was done, a line each.

        Args:
            undo_refused: end a claim that the metastore refuses to show.
        """
        return self.kernel().recover(relation.table_name, undo_refused=undo_refused)

    @available.parse_list
    def vacuum(
        self,
        relation: LakemergeRelation,
        retention_hours: float = 168,
        retain_last: int = 1,
        max_bytes: Any = None,
        dry_run: bool = True,
        allow_short_retention: bool = False,
    ) -> list[dict[str, Any]]:
        """Free (or only list) the files that no kept version needs; see :func:`lakemerge.kernel.vacuum`.

        Args:
            max_bytes: bytes, or a size such as ``10gb``.
        """
        with config_errors():
            arguments = VacuumArguments.of(retention_hours, retain_last, max_bytes)
        garbage = vacuum(
            self.kernel(),
            relation.table_name,
            retention=arguments.retention,
            retain_last=arguments.retain_last,
            max_bytes=arguments.max_bytes,
            dry_run=dry_run,
            allow_short_retention=allow_short_retention,
        )
        return [dataclasses.asdict(item) for item in garbage]

    @available.parse_list
    def erase(self, conditions: Mapping[str, str], dry_run: bool = True) -> list[dict[str, Any]]:
        """Erase (or only look for) the rows that meet conditions; see :func:`lakemerge.erase`.

        Args:
            conditions: SQL by table; a name without a schema is of the target's.
        """
        named = {
            self.table_named(str(text)).table_name: where for text, where in dict(conditions or {}).items()
        }
        for name in named:
            staged_names.require_published(name, "erase rows of")
        tables = {str(name): where for name, where in named.items()}
        return erase_rows(self.handle.spark, tables, dry_run=dry_run, agent="dbt-lakemerge")
