"""Tables of a program, with what was in them after each commit."""

from __future__ import annotations

import datetime
import random
from collections.abc import Callable, Mapping
from typing import Any

import pytest

import lakemerge
from functional.transactions.conftest import Program, merger, models, program
from lakemerge.kernel import vacuum
from lakemerge.tables import Table
from rings import of_rings

__all__ = ["merger", "models", "program"]

COLUMNS = ("id bigint", "name string", "ts bigint", "region string", "op string")
#: Texts that are partitions' names, none of them plain.
REGIONS = ("a/b = %'x", "", "south", None)
MERGED = {
    "unique_key": "id",
    "sequence_by": "ts",
    "apply_as_deletes": "op = 'D'",
    "except_column_list": ["op"],
    "on_schema_change": "append_new_columns",
}
#: Kinds of tables: the method that brings rows in, and its options.
KINDS: Mapping[str, tuple[str, dict[str, Any]]] = {
    "partitioned": ("merge", {**MERGED, "partition_by": ["region"]}),
    "whole parquet": ("merge", {**MERGED, "file_format": "parquet"}),
    "on read": (
        "merge",
        {**MERGED, "partition_by": ["region"], "write_mode": "merge_on_read", "compaction": "off"},
    ),
    "history": ("merge", {**MERGED, "stored_as_scd_type": 2, "partition_by": ["region"]}),
    "appended": ("append", {"partition_by": ["region"]}),
    "commits": ("append", {"append_layout": "commit_partitioned"}),
}

EACH_KIND = of_rings(KINDS, ("partitioned", "on read"))


class Recorded:
    """A table whose rows are noted after each commit.

    Attributes:
        rows: by version, the rows as readers saw them, each as the texts of its columns by their names.
    """

    def __init__(self, program: Program, name: str, kind: str, seed: int = 0) -> None:
        self.spark = program.spark
        self.table: Table = lakemerge.table(name, spark=program.spark)
        self.method, self.options = KINDS[kind]
        self.draw = random.Random(f"{kind} {seed}")
        self.rows: dict[int, list[tuple[tuple[str, str | None], ...]]] = {}
        self._ts = 0

    def note(self) -> int:
        """Note the rows of the newest version; returns its number."""
        version = int(self.table.history(1)[0]["version"])
        self.rows[version] = texts(self.table.to_df())
        return version

    def bring(self, count: int = 6, extra: str = "") -> int:
        """Bring some rows in, of which some change others, and note what the table has then.

        Args:
            extra: SQL of a further column.
        """
        self._ts += 1
        changes = {}
        for _ in range(count):
            key = self.draw.randrange(12)
            region = self.draw.choice(REGIONS)
            op = self.draw.choice("UUUD") if self._ts > 1 and self.method == "merge" else "U"
            changes[key] = (key, f"n{self._ts}" if key % 5 else None, self._ts, region, op)
        frame = self.spark.createDataFrame(list(changes.values()), ", ".join(COLUMNS))
        if extra:
            frame = frame.selectExpr("*", extra)
        getattr(self.table, self.method)(frame, **self.options)
        return self.note()


def free(program: Program, one: Recorded) -> None:
    """Vacuum all that no kept version needs."""
    vacuum(
        program.kernel,
        one.table._name,
        retention=datetime.timedelta(0),
        dry_run=False,
        allow_short_retention=True,
    )


def texts(frame: Any) -> list[tuple[tuple[str, str | None], ...]]:
    """Rows as texts that can be compared, whatever their types, in an order."""
    rows = frame.selectExpr(*(f"cast(`{name}` as string) as `{name}`" for name in frame.columns)).collect()
    return sorted((tuple(sorted(row.asDict().items())) for row in rows), key=str)


@pytest.fixture
def recorded(program: Program, project: Any, request: pytest.FixtureRequest) -> Callable[..., Recorded]:
    """Makes a :class:`Recorded` of a kind: ``recorded(kind)``."""
    made = 0

    def make(kind: str, seed: int = 0) -> Recorded:
        nonlocal made
        made += 1
        name = f"{project.test_schema}.t{abs(hash(request.node.name)) % 10**8}_{made}"
        return Recorded(program, name, kind, seed)

    return make
