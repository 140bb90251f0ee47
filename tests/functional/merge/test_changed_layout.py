"""A model whose partitioning and format are changed when its table exists: the table keeps both until a rebuild."""

from __future__ import annotations

from typing import Any

import pytest

FEED = "id bigint, region string, day string, name string, ts bigint"
CHANGED = {"partition_by": "day", "file_format": "parquet"}


def change(key: int, region: str, day: str, ts: int) -> dict[str, Any]:
    return {"id": key, "region": region, "day": day, "name": f"{key} at {ts}", "ts": ts}


def layout_of(table: Any) -> tuple[list[str], str]:
    """The partition columns of the newest version, and its format."""
    manifest = table.manifest()
    return [column.name for column in manifest.partition_columns], manifest.file_format


@pytest.mark.parametrize(
    "extra",
    [
        {},
        pytest.param({"write_mode": "merge_on_read"}, marks=pytest.mark.slow),
        pytest.param({"stored_as_scd_type": 2, "history_layout": "plain"}, marks=pytest.mark.slow),
    ],
    ids=["copy on write", "on read", "history"],
)
def test_the_table_keeps_its_layout_and_takes_all_changes_until_it_is_rebuilt(
    merger: Any, extra: dict[str, Any]
) -> None:
    table = merger({"unique_key": "id", "sequence_by": "ts", "partition_by": "region", **extra}, FEED)
    first = [change(1, "eu", "mon", 1), change(2, "us", "mon", 1), change(3, "us", "tue", 1)]
    table.merge(first)
    before = table.rows("id, ts")

    table.model["config"].update(CHANGED)
    later = [change(2, "eu", "wed", 2), change(4, "asia", "wed", 2)]  # one moves between the old partitions
    table.merge(later)
    assert layout_of(table) == (["region"], "orc")
    newest = [{name: row[name] for name in later[0]} for row in table.rows() if row["ts"] == 2]
    assert newest == later
    unchanged = [row for row in before if row["id"] != 2]
    assert [row for row in table.rows("id, ts") if row["id"] in (1, 3)] == unchanged

    kept = table.rows("id, ts")
    table.merge([*first, *later], rebuild=True)
    assert layout_of(table) == (["day"], "parquet")
    assert table.rows("id, ts") == kept
