"""Handles and cursors, with Spark replaced by an object that keeps what is asked of it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from dbt.adapters.lakemerge.cursor import ConnectionHandle
from dbt_common.exceptions import DbtDatabaseError

from lakemerge.errors import Cancelled, JavaDied


class FakeFrame:
    def __init__(self, spark: FakeSpark, sql: str) -> None:
        self.spark, self.sql = spark, sql
        self.is_command = not sql.lstrip("(").startswith("select")
        field = SimpleNamespace(name="n", dataType=SimpleNamespace(simpleString=lambda: "int"), nullable=True)
        self.schema = SimpleNamespace(fields=[] if self.is_command else [field])
        self.write = self

    def format(self, _: str) -> FakeFrame:
        return self

    def mode(self, _: str) -> FakeFrame:
        return self

    def save(self) -> None:
        self.spark.completed.append(self.sql)

    def isLocal(self) -> bool:  # noqa: N802 - Spark's name
        return self.is_command

    def collect(self) -> list[tuple[int]]:
        return [(1,), (2,), (3,)]

    def toLocalIterator(self) -> Iterator[tuple[int]]:  # noqa: N802 - Spark's name
        return iter(self.collect())


class FakeSpark:
    """A session and its context in one."""

    def __init__(self) -> None:
        self.ran: list[str] = []
        self.completed: list[str] = []
        self.cancelled: list[str] = []
        self.group: tuple[str, str] | None = None
        self.arguments: list[Any] | None = None
        self.conf: dict[str, str] = {}
        self.sparkContext = self
        self._jsc = self

    def sql(self, text: str, args: list[Any] | None = None) -> FakeFrame:
        self.ran.append(text)
        self.arguments = args
        return FakeFrame(self, text)

    def setJobGroup(self, group: str, description: str, interruptOnCancel: bool) -> None:  # noqa: N802, N803
        assert interruptOnCancel
        self.group = (group, description)

    def getLocalProperty(self, _: str) -> str | None:  # noqa: N802 - Spark's name
        return self.group[0] if self.group else None

    def clearJobGroup(self) -> None:  # noqa: N802 - Spark's name
        self.group = None

    def sc(self) -> FakeSpark:
        return self

    def cancelJobGroupAndFutureJobs(self, group: str) -> None:  # noqa: N802 - Spark's name
        self.cancelled.append(group)

    cancelJobGroup = cancelJobGroupAndFutureJobs  # noqa: N815 - Spark 3.5's name


class FakeJava:
    """The Java process, alive if nothing else is said."""

    is_dead = False

    def death(self, wait: float = 0) -> JavaDied | None:
        return JavaDied(expected="Java to live", found="none", action="Run again.") if self.is_dead else None


@pytest.fixture
def spark() -> FakeSpark:
    return FakeSpark()


@pytest.fixture
def handle(spark: FakeSpark) -> ConnectionHandle:
    session: Any = spark
    application: Any = SimpleNamespace(java=FakeJava())
    return ConnectionHandle(application, session, "model.test.m")


def test_jobs_are_described_by_the_query_comment(spark: FakeSpark, handle: ConnectionHandle) -> None:
    assert spark.group == (handle.job_group, "model.test.m")
    handle.cursor().execute("/* node m */ select 1")
    assert spark.group == (handle.job_group, "node m")


def test_each_statement_of_a_text_runs_and_the_last_gives_the_rows(
    spark: FakeSpark, handle: ConnectionHandle
) -> None:
    cursor = handle.cursor()
    cursor.execute("set a=1; select 1; select 2")
    assert spark.ran == ["set a=1", "select 1", "select 2"]
    # a query before the last is run although nobody reads its rows
    assert spark.completed == ["select 1"]
    assert cursor.description[0][:2] == ("n", "int")


def test_rows_belong_to_the_cursor(handle: ConnectionHandle) -> None:
    first, second = handle.cursor(), handle.cursor()
    first.execute("select 1")
    second.execute("set a=1")
    assert first.fetchone() == (1,)
    assert first.fetchmany(1) == [(2,)]
    assert first.fetchall() == [(3,)]
    assert first.fetchone() is None
    assert second.description == []


def test_all_rows_are_fetched_once(handle: ConnectionHandle) -> None:
    cursor = handle.cursor()
    cursor.execute("select 1")
    assert len(cursor.fetchall()) == 3
    assert cursor.fetchall() == []


def test_values_go_apart_from_the_text(spark: FakeSpark, handle: ConnectionHandle) -> None:
    handle.cursor().execute("select ?; ?", ["it's", None])
    assert (spark.ran, spark.arguments) == (["select ?; ?"], ["it's", None])


def test_rows_before_a_statement_are_an_error(handle: ConnectionHandle) -> None:
    with pytest.raises(DbtDatabaseError, match="Call execute"):
        handle.cursor().fetchall()


def test_a_cancelled_connection_refuses_further_statements(
    spark: FakeSpark, handle: ConnectionHandle
) -> None:
    handle.cancel()
    assert spark.cancelled == [handle.job_group]
    with pytest.raises(Cancelled, match=r"model\.test\.m to go on"):
        handle.cursor().execute("select 1")
    assert spark.ran == []


@pytest.mark.parametrize("release", [ConnectionHandle.close, ConnectionHandle.rollback])
def test_callbacks_run_once_last_first_and_all_of_them(
    handle: ConnectionHandle, release: Callable[[ConnectionHandle], None]
) -> None:
    calls: list[str] = []

    def fail() -> None:
        calls.append("fails")
        raise RuntimeError

    handle.on_release(lambda: calls.append("first"))
    handle.on_release(fail)
    handle.on_release(lambda: calls.append("last"))
    release(handle)
    handle.close()
    assert calls == ["last", "fails", "first"]


def test_what_is_registered_later_can_be_released_earlier(handle: ConnectionHandle) -> None:
    calls: list[str] = []
    handle.on_release(lambda: calls.append("of the node"))
    held = handle.held
    handle.on_release(lambda: calls.append("of a batch"))
    handle.release(held)
    assert (calls, handle.held) == (["of a batch"], held)
    handle.close()
    assert calls == ["of a batch", "of the node"]


def test_cancelling_runs_no_callback_in_another_thread(handle: ConnectionHandle) -> None:
    calls: list[str] = []
    handle.on_release(lambda: calls.append("released"))
    handle.cancel()
    assert calls == []
    handle.close()
    assert calls == ["released"]


@pytest.mark.parametrize(("is_dead", "reported"), [(True, 0), (False, 1)])
def test_what_a_dead_java_took_with_it_is_not_told_of_again(
    spark: FakeSpark, handle: ConnectionHandle, monkeypatch: pytest.MonkeyPatch, is_dead: bool, reported: int
) -> None:
    warnings: list[str] = []
    calls: list[str] = []
    monkeypatch.setattr(logging.getLogger("lakemerge"), "warning", warnings.append)

    def refused() -> None:
        raise ConnectionRefusedError(111, "Connection refused")

    handle.on_release(lambda: calls.append("of this process"))
    handle.on_release(refused)
    monkeypatch.setattr(FakeJava, "is_dead", is_dead)
    handle.cancel()
    handle.close()
    assert calls == ["of this process"]
    assert len(warnings) == reported
    assert bool(spark.cancelled) is not is_dead


def test_closing_leaves_no_job_group(spark: FakeSpark, handle: ConnectionHandle) -> None:
    handle.close()
    assert spark.group is None


def test_closing_leaves_another_connections_job_group(spark: FakeSpark, handle: ConnectionHandle) -> None:
    spark.group = ("other", "later")
    handle.close()
    assert spark.group == ("other", "later")
