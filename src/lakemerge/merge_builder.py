"""MERGE INTO, clause by clause, in the style of Delta's Python API."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING

from lakemerge.engine.sql_text import quote
from lakemerge.errors import InvalidConfig

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from lakemerge.engine.publish.result import CommitResult


class MergeBuilder:
    """A MERGE INTO a table; :meth:`lakemerge.tables.Table.merge_into` makes one.

    ::

        products.merge_into(prices, on="target.id = source.id") \\
            .when_matched_update(set={"price": "source.price"}) \\
            .when_not_matched_insert_all() \\
            .execute()

    Conditions and values are SQL over ``target`` and ``source``. The first clause that holds for a row wins.
    """

    def __init__(self, spark: SparkSession, table: str, source: str | DataFrame, on: str) -> None:
        """
        Args:
            table: the quoted name.
            source: a frame, a query, or the name of a table or view.
            on: SQL.
        """
        self._spark = spark
        self._table = table
        self._source = source
        self._on = on
        self._clauses: list[str] = []

    def when_matched_update(self, *, set: Mapping[str, str], condition: str = "") -> MergeBuilder:
        """Update columns of a row that a source's row matches. ``set`` has SQL by column."""
        return self._when("matched", condition, f"update set {assignments(set)}")

    def when_matched_update_all(self, *, condition: str = "") -> MergeBuilder:
        """Update all columns from the source's columns of their names."""
        return self._when("matched", condition, "update set *")

    def when_matched_delete(self, *, condition: str = "") -> MergeBuilder:
        """Delete a row that a source's row matches."""
        return self._when("matched", condition, "delete")

    def when_not_matched_insert(self, *, values: Mapping[str, str], condition: str = "") -> MergeBuilder:
        """Insert a row of the source that matches none. ``values`` has SQL over the source by column."""
        columns, given = ", ".join(map(quote, values)), ", ".join(f"({value})" for value in values.values())
        return self._when("not matched", condition, f"insert ({columns}) values ({given})")

    def when_not_matched_insert_all(self, *, condition: str = "") -> MergeBuilder:
        """Insert all columns of a row of the source that matches none."""
        return self._when("not matched", condition, "insert *")

    def when_not_matched_by_source_update(
        self, *, set: Mapping[str, str], condition: str = ""
    ) -> MergeBuilder:
        """Update columns of a row that no row of the source matches. ``set`` has SQL over the table by column."""
        return self._when("not matched by source", condition, f"update set {assignments(set)}")

    def when_not_matched_by_source_delete(self, *, condition: str = "") -> MergeBuilder:
        """Delete a row that no row of the source matches."""
        return self._when("not matched by source", condition, "delete")

    def execute(self) -> CommitResult:
        """Carry the statement out, by one commit.

        Raises:
            CardinalityViolation: several rows of the source change one of the table.
            LakemergeError, PySparkException: nothing was published, unless the error says otherwise.
        """
        from lakemerge.engine.statements.run import run_statement

        if not self._clauses:
            raise InvalidConfig(
                expected="at least one clause, such as when_matched_update_all()",
                found="none",
                action="Add one before execute().",
            )
        view = f"lakemerge_{uuid.uuid4().hex}"
        frame = self._source if not isinstance(self._source, str) else self._frame(self._source)
        frame.createOrReplaceTempView(view)
        try:
            head = f"merge into {self._table} as target using {view} as source on {self._on}"
            return run_statement(self._spark, "\n".join([head, *self._clauses]), agent="lakemerge.table")
        finally:
            self._spark.catalog.dropTempView(view)

    def _frame(self, source: str) -> DataFrame:
        is_query = " " in source.strip()
        return self._spark.sql(source) if is_query else self._spark.table(source)

    def _when(self, kind: str, condition: str, action: str) -> MergeBuilder:
        self._clauses.append(f"when {kind}{f' and ({condition})' if condition else ''} then {action}")
        return self


def assignments(values: Mapping[str, str]) -> str:
    """SQL of assignments. A name with a dot is one of a field."""
    return ", ".join(f"{name} = {value}" for name, value in values.items())
