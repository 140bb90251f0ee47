"""Streams: small atomic commits from Python, read back by Spark."""

from __future__ import annotations

import datetime
import decimal
from typing import Any

import pytest
from dbt.tests.util import run_dbt

import lakemerge.writer
from lakemerge import compaction_thresholds
from lakemerge.errors import (
    InvalidConfig,
    InvalidRecord,
    InvalidTransactionState,
    UnsupportedTable,
    WriterFenced,
)
from lakemerge.kernel import Kernel, TableName
from lakemerge.kernel.maintenance.history import history

ALERTS = """
{{ config(materialized='incremental', append_layout='commit_partitioned', partition_by=['continent', 'country']) }}
select cast(0 as int) as id, 'first' as msg, 'Europe' as continent, 'FI' as country
"""
TYPES = """
{{ config(materialized='incremental', append_layout='commit_partitioned') }}
select cast(null as tinyint) as t, cast(null as bigint) as b, cast(null as decimal(6, 2)) as d,
       cast(null as double) as f, cast(null as boolean) as y, cast(null as date) as day,
       cast(null as timestamp) as at, cast(null as binary) as raw, cast(null as string) as s where false
"""
NUMBERS = """
{{ config(materialized='incremental', append_layout='commit_partitioned') }}
select cast(null as int) as id, cast(null as decimal(6, 2)) as d, cast(null as double) as f, cast(null as float) as r,
       cast(null as binary) as raw where false
"""
REWRITTEN = "{{ config(materialized='incremental') }} select 1 as id"


@pytest.fixture(scope="class")
def models() -> dict[str, str]:
    return {"alerts.sql": ALERTS, "kinds.sql": TYPES, "numbers.sql": NUMBERS, "rewritten.sql": REWRITTEN}


@pytest.fixture(scope="class")
def kernel(project: Any) -> Kernel:
    run_dbt(["run"])
    with project.adapter.connection_named("kernel"):
        application = project.adapter.handle.application
    return Kernel(application.ports)


def rows(project: Any, text: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in project.run_sql(text.format(project.test_schema), fetch="all")]


class TestStream:
    def test_static_and_dynamic_partitions(self, project: Any, kernel: Kernel) -> None:
        table = f"{project.test_schema}.alerts"
        static = {"continent": "Asia", "country": "India"}
        with lakemerge.writer.open(table, kernel, format="delimited", partition=static) as stream:
            stream.write(["1,val1", b"2,\\N"])
            assert stream.commit() == 2
            stream.write(["3,val3"])
            assert stream.commit() == 3
            stream.write(["4,given up"])
        with lakemerge.writer.open(table, kernel, format="delimited") as stream:
            stream.write(["11,val 11,Asia,China", "12,väl\\,Asia,India", "13,val13,Eur/ope,"])
            stream.commit()
        with lakemerge.writer.open(table, kernel, format="json") as stream:
            stream.write(['{"id": 21, "msg": "a,b\\u0001c", "continent": "Asia", "country": null}'])
            stream.commit()
        assert rows(project, "select id, msg, continent, country, _commit from {0}.alerts order by id") == [
            (0, "first", "Europe", "FI", 1),
            (1, "val1", "Asia", "India", 2),
            (2, None, "Asia", "India", 2),
            (3, "val3", "Asia", "India", 3),
            (11, "val 11", "Asia", "China", 4),
            (12, "väl\\", "Asia", "India", 4),
            (13, "val13", "Eur/ope", None, 4),
            (21, "a,b\x01c", "Asia", None, 5),
        ]
        assert history(kernel, TableName(project.test_schema, "alerts"))[0].properties["rows"] == 8

    def test_values_of_each_type(self, project: Any, kernel: Kernel) -> None:
        table = f"{project.test_schema}.kinds"
        at = datetime.datetime(2026, 1, 2, 3, 4, 5, 678901)
        day = datetime.date(1900, 1, 1)
        good = (-128, 2**63 - 1, decimal.Decimal("9999.99"), 1.5, True, day, at, b"\x00\xff", "\\N")
        with lakemerge.writer.open(table, kernel) as stream:
            stream.write([good, dict.fromkeys(["t", "b", "d", "f", "y", "day", "at", "raw", "s"])])
            for column, bad in ((0, 128), (1, "1x"), (2, "10000"), (3, "x"), (4, 1), (5, "2026-1-1"), (8, 1)):
                with pytest.raises(InvalidRecord):
                    stream.write([[bad if number == column else value for number, value in enumerate(good)]])
            with pytest.raises(InvalidRecord):
                stream.write([good[:-1]])
            stream.commit()
        found = rows(project, "select t, b, d, f, y, day, at, raw, s from {0}.kinds order by t nulls last")
        assert found[1] == (None,) * 9
        assert [bytes(value) if isinstance(value, bytearray) else value for value in found[0]] == list(good)

    def test_numbers_and_bytes_of_texts_are_stored_as_they_are_written(
        self, project: Any, kernel: Kernel
    ) -> None:
        table = f"{project.test_schema}.numbers"
        with lakemerge.writer.open(table, kernel, format="delimited") as stream:
            stream.write(["1,1.500,NaN,NaN,AQI=", "2,.5,-Infinity,Infinity,", "3,0,-0.0,-0.0,\\N"])
            stream.write(["4,-5.,4.9e-324,1.00000017881393432617187499e0,\\N", "5,\\N,1e308,1e-45,\\N"])
            stream.commit()
        with lakemerge.writer.open(table, kernel, format="json") as stream:
            stream.write(['{"id": 6, "d": 1234.560, "f": 1e2, "r": 3.4e38, "raw": "AQ=="}'])
            stream.commit()
        with lakemerge.writer.open(table, kernel) as stream:
            stream.write([(7, 1, 2**60, 2**100, b"")])
            stream.commit()
        texts = "cast(d as string), cast(f as string), cast(r as string), hex(raw)"
        assert rows(project, f"select {texts} from {{0}}.numbers order by id") == [
            ("1.50", "NaN", "NaN", "0102"),
            ("0.50", "-Infinity", "Infinity", ""),
            ("0.00", "-0.0", "-0.0", None),
            ("-5.00", "4.9E-324", "1.0000001", None),
            (None, "1.0E308", "1.4E-45", None),
            ("1234.56", "100.0", "3.4E38", "01"),
            ("1.00", "1.15292150460684698E18", "1.2676506E30", ""),
        ]

    def test_many_commits_leave_few_files(
        self, project: Any, kernel: Kernel, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(compaction_thresholds, "PARTITIONS", 5)
        table = f"{project.test_schema}.kinds"
        before = rows(project, "select count(*) from {0}.kinds")[0][0]
        row: tuple[Any, ...] = (1, 2, None, None, None, None, None, None, "many")
        with lakemerge.writer.open(table, kernel) as stream:
            for _ in range(12):
                stream.write([row] * 3)
                stream.commit()
        newest = history(kernel, TableName(project.test_schema, "kinds"), 1)[0]
        assert newest.total_files <= 6
        assert rows(project, "select count(*) from {0}.kinds")[0][0] == before + 36

    def test_a_writer_s_name_is_open_once_and_numbers_its_batches(self, project: Any, kernel: Kernel) -> None:
        table = f"{project.test_schema}.alerts"

        def line(number: int) -> list[str]:
            return [f"{number},named,Asia,India"]

        zombie = lakemerge.writer.open(table, kernel, format="delimited", name="agent-1")
        zombie.write(line(100))
        zombie.commit(batch=7)
        zombie.write(line(101))
        with lakemerge.writer.open(table, kernel, format="delimited", name="agent-1") as stream:
            assert stream.last_batch == 7
            stream.write(line(100))
            assert stream.commit(batch=7) is None, "it was committed before"
            with pytest.raises(WriterFenced):
                zombie.commit(batch=8)
            with pytest.raises(InvalidTransactionState):
                zombie.begin()
            stream.write(line(101))
            stream.commit(batch=8)
        assert rows(project, "select id from {0}.alerts where msg = 'named' order by id") == [(100,), (101,)]

    def test_what_cannot_be_written(self, project: Any, kernel: Kernel) -> None:
        with pytest.raises(UnsupportedTable):
            lakemerge.writer.open(f"{project.test_schema}.rewritten", kernel)
        with pytest.raises(InvalidConfig):
            lakemerge.writer.open(f"{project.test_schema}.alerts", kernel, partition={"country": "FI"})
        static = {"continent": 1, "country": "FI"}
        with pytest.raises(InvalidConfig, match="continent"):
            lakemerge.writer.open(f"{project.test_schema}.alerts", kernel, partition=static)
        with lakemerge.writer.open(f"{project.test_schema}.alerts", kernel) as stream:
            stream.write([[1, "x", "a", "b"]])
            with pytest.raises(InvalidConfig):
                stream.commit(batch=1)
