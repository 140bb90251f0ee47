"""Deltas moved into a part of a table, for as many partitions as a run may write again."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import pytest

from functional.overtaking import overtake
from lakemerge.engine.merge_on_read import delta_share

from .test_merge_properties import CONFIG

pytestmark = pytest.mark.slow

FEED = "id bigint, region string, name string, ts bigint, op string"
ON_READ = {**CONFIG, "write_mode": "merge_on_read", "partition_by": "region", "compaction": "off"}
REGIONS = ("east", "north", "south")


def change(number: int, ts: int, region: str | None = None, **other: Any) -> dict[str, Any]:
    region = REGIONS[number % 3] if region is None else region
    return {"id": number, "region": region, "name": f"n{ts}", "ts": ts, "op": "U", **other}


def outstanding(merger: Any, *changes: dict[str, Any], **options: Any) -> Any:
    """Nine rows in three partitions, and the changes beside them."""
    table = merger({**ON_READ, **options}, FEED)
    table.merge([change(number, 1) for number in range(9)])
    table.merge(list(changes) or [change(number, 5) for number in range(6)])
    return table


def compact(table: Any, **bounds: Any) -> dict[str, Any]:
    """Move deltas; returns the log's record, which is empty where there was nothing to do."""
    with table.adapter.connection_named(table.name):
        done = table.adapter.compaction.compact(table.context, table.relation, table.model, **bounds) or {}
    return done.get("deltas") or {}


def names(table: Any, part: str = "") -> list[str]:
    rows = table.sql(f"select id, name, region from {{table}}{part} order by id, region")
    return [f"{row.id} {row.region or '-'} {row.name}" for row in rows]


def waiting(table: Any) -> list[int]:
    """The keys of the deltas that the base does not hold."""
    with table.adapter.connection_named(table.name):
        state, manifest = table.adapter.operations.kernel().settled(table.relation.table_name)
        folders = [state.layout.absolute(one) for one in manifest.sidecars.get("deltas", ())]
        assert len(folders) <= 1
        files = table.adapter.handle.spark.read.format(table.model["config"].get("file_format", "orc"))
        rows = files.load(folders[0]).collect() if folders else []
    return sorted(row.id for row in rows)


class TestParts:
    def test_each_run_takes_the_partitions_that_its_bytes_allow_until_all_are_done(self, merger: Any) -> None:
        table = outstanding(merger)
        shown = names(table)
        size = max(state.bytes for state in table.partitions().values())
        left = []
        for _ in range(3):
            left.append(compact(table, max_bytes=size)["left"])
            assert names(table) == shown
        assert left == [2, 1, 0]
        assert (names(table, "__base"), waiting(table)) == (shown, [])
        assert compact(table, max_bytes=size) == {}
        table.drop()

    def test_a_dry_run_tells_of_the_deltas_that_the_base_does_not_hold(self, merger: Any) -> None:
        table = outstanding(merger)
        table.merge([change(6, 7), change(7, 7)])

        def told(**arguments: Any) -> tuple[Any, ...]:
            planned = compact(table, dry_run=True, **arguments)
            return tuple(planned.get(name) for name in ("action", "deltas", "files_before"))

        def sizes() -> list[int]:
            files = table.sql("select distinct input_file_name() as file from {table}__deltas")
            return [Path(urlparse(row.file).path).stat().st_size for row in files]

        before = table.history()
        assert told() == ("major", 2, 2)
        assert told(deltas="minor") == ("minor", 2, 2)
        assert compact(table, dry_run=True)["bytes_before"] == sum(sizes())
        assert table.history() == before
        compact(table, partitions="region = 'east'")
        # one delta is left for the others: those that it was made of are still there for queries that are being planned
        assert (told(), len(sizes())) == (("major", 1, 1), 3)
        assert told(deltas="minor") == (None, None, None), "it is one"
        compact(table)
        assert told() == (None, None, None)
        moved = sizes()
        table.merge([change(number, 9) for number in range(9)])
        assert told() == ("major", 1, 1)
        assert compact(table, dry_run=True)["bytes_before"] == sum(sizes()) - sum(moved)
        assert len(sizes()) == len(moved) + 1
        table.drop()

    def test_partitions_whose_deltas_the_base_holds_are_left_alone(self, merger: Any) -> None:
        table = outstanding(merger)
        compact(table)
        # the deltas that were moved are still there for queries that are being planned
        assert len(table.sql("select * from {table}__deltas")) == 6
        before = table.partitions()
        table.merge([change(1, 6)])
        compact(table)
        after = table.partitions()
        assert [name for name in after if after[name] != before[name]] == ["region=north"]
        assert names(table) == names(table, "__base")
        table.drop()

    def test_much_is_moved_by_several_commits(self, merger: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        table = outstanding(merger)
        shown = names(table)
        monkeypatch.setattr(delta_share, "BYTES_OF_A_LOT", 1)
        monkeypatch.setattr(delta_share, "_MOST_LOTS", 10**9)
        record = compact(table)
        assert (len(record["versions"]), record["left"], waiting(table)) == (3, 0, [])
        assert names(table) == names(table, "__base") == shown
        # a part of it, within bounds: each commit takes one partition, and the third does not fit
        table.merge([change(number, 6) for number in range(6)])
        size = max(state.bytes for state in table.partitions().values())
        record = compact(table, max_bytes=2 * size)
        assert (len(record["versions"]), record["left"]) == (2, 1)
        assert names(table) == [line.replace("n5", "n6") for line in shown]
        table.drop()

    def test_a_condition_chooses_partitions_and_the_others_wait(self, merger: Any) -> None:
        deleted = [change(1, 5), change(2, 5), {**change(4, 5), "op": "D"}]
        table = outstanding(merger, *deleted, change(20, 5, "west"))
        shown = names(table)
        record = compact(table, partitions="region in ('north', 'nowhere')")
        assert (record["done"], record["left"], waiting(table)) == (1, 2, [2, 20])
        assert names(table) == shown
        # of the north, the base has it all
        assert [one for one in names(table, "__base") if "north" in one] == ["1 north n5", "7 north n1"]
        record = compact(table, partitions="region = 'nowhere'")
        assert (record["done"], record["left"], waiting(table)) == (0, 2, [2, 20])
        # merged as ever: late, newer, and a key whose delta is in the base by now
        response = table.merge([change(2, 4), change(20, 6, "west"), change(1, 7), change(4, 4)])
        assert response.ignored == 2
        shown = names(table)
        assert shown[:3] == ["0 east n1", "1 north n7", "2 south n5"]
        assert shown[-1] == "20 west n6"
        compact(table)
        assert names(table) == names(table, "__base") == shown
        table.drop()

    def test_a_key_that_moves_waits_for_both_and_leaves_first(self, merger: Any) -> None:
        table = outstanding(merger, change(1, 5, "south"), change(4, 5, "south"), change(2, 5))
        shown = names(table)
        assert compact(table, partitions="region = 'south'")["left"] == 1
        assert waiting(table) == [1, 4], "the base has them in the north, too"
        assert compact(table, partitions="region = 'south'")["done"] == 0, "again would be for nothing"
        assert compact(table, partitions="region = 'north'")["left"] == 1
        assert waiting(table) == [1, 4], "they are to come into the south"
        compact(table, partitions="region = 'south'")
        assert (names(table, "__base"), waiting(table)) == (shown, [])
        table.drop()

    def test_rows_without_a_value_for_their_partition_are_moved_too(self, merger: Any) -> None:
        table = merger(ON_READ, FEED)
        table.merge([change(number, 1, region) for number, region in enumerate(["", "north", "south"])])
        table.merge([change(0, 5, ""), change(1, 5, ""), change(2, 5, "north")])
        assert names(table) == ["0 - n5", "1 - n5", "2 north n5"]
        compact(table, partitions="region is null")
        assert names(table) == ["0 - n5", "1 - n5", "2 north n5"]
        assert waiting(table) == [1, 2]
        compact(table)
        assert names(table) == names(table, "__base") == ["0 - n5", "1 - n5", "2 north n5"]
        table.drop()

    def test_a_merge_and_another_part_that_come_first(
        self, merger: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        table = outstanding(merger)
        overtake(monkeypatch, lambda: table.merge([change(0, 9), change(1, 9)]))
        compact(table, partitions="region = 'east'")
        assert names(table)[:4] == ["0 east n9", "1 north n9", "2 south n5", "3 east n5"]
        compact(table, deltas="minor")
        assert waiting(table) == [0, 1, 2, 4, 5]
        overtake(monkeypatch, lambda: compact(table, partitions="region = 'north'"))
        compact(table, partitions="region = 'east'")
        assert names(table)[:4] == ["0 east n9", "1 north n9", "2 south n5", "3 east n5"]
        assert waiting(table) == [2, 5]
        table.drop()

    def test_partitions_of_two_columns_and_a_key_of_two_in_parquet(self, merger: Any) -> None:
        config = {
            **ON_READ,
            "unique_key": ["id", "region"],
            "partition_by": ["region", "day"],
            "file_format": "parquet",
        }
        table = merger(config, f"{FEED}, day date")
        first, second = (datetime.date(2026, 11, day) for day in (1, 2))
        table.merge([change(number, 1, day=first) for number in range(9)])
        table.merge([change(0, 5, day=second), change(0, 5, "north", day=first), change(2, 5, day=first)])
        shown = names(table)
        assert shown[:3] == ["0 east n5", "0 north n5", "1 north n1"]
        # in the east one key moves from day to day: the one that it leaves comes first
        assert compact(table, partitions="region = 'east' and day = date'2026-11-02'")["done"] == 0
        assert compact(table, partitions="region = 'east' and day = date'2026-11-01'")["left"] == 3
        assert (names(table), waiting(table)) == (shown, [0, 0, 2])
        assert compact(table, partitions="day < date'2026-11-02' and region <> 'south'")["left"] == 2
        assert (names(table), waiting(table)) == (shown, [0, 2])
        compact(table)
        assert (names(table, "__base"), waiting(table)) == (shown, [])
        assert len(table.partitions()) == 4
        table.drop()

    def test_a_table_without_partitions_is_one_part(self, merger: Any) -> None:
        table = outstanding(merger, partition_by=None)
        shown = names(table)
        assert compact(table, max_bytes=10)["done"] == 0
        assert len(waiting(table)) == 6
        assert compact(table, max_bytes="1gb")["left"] == 0
        assert names(table) == names(table, "__base") == shown
        table.drop()
