"""The official suites' DDL and DML on plain Hive tables, which know neither UPDATE nor DELETE.

A table's rows are copied aside and written back, as anyone without lakemerge would do it: to the snapshots in the
suites it is a foreign write.
"""

from __future__ import annotations

import re
from typing import Any

from dbt.adapters.lakemerge.statements import split_statements

_TYPES = {
    r"\btimestamp without time zone\b": "timestamp",
    r"\btext\b": "string",
    r"\binteger\b": "int",
    r"(\w+|null)::timestamp": r"cast(\1 as timestamp)",
    r"(\w+)::text": r"cast(\1 as string)",
    r"'(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)'": r"timestamp'\1'",
}


def in_spark(statement: str) -> str:
    """A statement of the suites in Spark's words."""
    text = re.sub(r"--[^\n]*", "", statement).strip().rstrip(";")
    for pattern, replacement in _TYPES.items():
        text = re.sub(pattern, replacement, text, flags=re.IGNORECASE)
    if re.match(r"create table .*\)$", text, re.IGNORECASE | re.DOTALL):
        text += " stored as orc"
    return text


class HiveProject:
    """dbt's project fixture, with a ``run_sql`` that speaks the suites' SQL."""

    def __init__(self, project: Any) -> None:
        self._project = project

    def __getattr__(self, name: str) -> Any:
        return getattr(self._project, name)

    def run_sql(self, sql: str, fetch: str | None = None) -> Any:
        """Run statements; returns the rows of the last one if they are fetched."""
        result = None
        text = sql.replace("{database}.", "").replace("None.", "").replace("`None`.", "")
        for statement in split_statements(text.replace("{schema}", self._project.test_schema)):
            if statement.strip():
                result = self._run(in_spark(statement), fetch)
        return result

    def _run(self, statement: str, fetch: str | None) -> Any:
        if match := re.match(
            r"update (\S+)\s+set\s+(.*?)(?:\s+where (.*))?$", statement, re.DOTALL | re.IGNORECASE
        ):
            return self._update(match[1], match[2], match[3] or "true")
        if match := re.match(r"delete from (\S+)(?:\s+where (.*))?$", statement, re.DOTALL | re.IGNORECASE):
            return self._delete(match[1], match[2] or "true")
        if match := re.match(r"alter table (\S+)\s+add column (.*)$", statement, re.DOTALL | re.IGNORECASE):
            return self._add_column(match[1], match[2])
        return self._project.run_sql(statement, fetch=fetch)

    def _columns(self, table: str) -> list[str]:
        rows = self._project.run_sql(f"show columns in {table}", fetch="all")
        return [row[0] for row in rows]

    def _update(self, table: str, assignments: str, where: str) -> None:
        # commas between assignments: those that a name and an equals sign follow
        pairs = [part.split("=", 1) for part in re.split(r",\s*(?=\w+\s*=)", assignments)]
        new = {name.strip().lower(): value.strip() for name, value in pairs}
        columns = [
            f"case when {where} then {new[name.lower()]} else {name} end as {name}"
            if name.lower() in new
            else name
            for name in self._columns(table)
        ]
        self._rewrite(table, f"select {', '.join(columns)} from {table}")

    def _delete(self, table: str, where: str) -> None:
        if where.replace(" ", "") in ("true", "1=1"):
            self._project.run_sql(f"truncate table {table}")
        else:
            self._rewrite(table, f"select * from {table} where not coalesce({where}, false)")

    def _add_column(self, table: str, column: str) -> None:
        definition, _, default = (
            part.strip() for part in re.split(r"(?i)\b(default)\b", f"{column} default null")[:3]
        )
        self._project.run_sql(f"alter table {table} add columns ({definition})")
        if default.lower() != "null":
            self._update(table, f"{definition.split()[0]} = {default}", "true")

    def _rewrite(self, table: str, query: str) -> None:
        self._project.run_sql(f"drop table if exists {table}_rewritten")
        self._project.run_sql(f"create table {table}_rewritten stored as orc as {query}")
        self._project.run_sql(f"insert overwrite table {table} select * from {table}_rewritten")
        self._project.run_sql(f"drop table {table}_rewritten")
