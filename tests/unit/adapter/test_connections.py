from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest
from dbt.adapters.contracts.connection import Connection, ConnectionState, LazyHandle
from dbt.adapters.exceptions import FailedToConnectError
from dbt.adapters.lakemerge import connections
from dbt.adapters.lakemerge.connections import LakemergeConnectionManager
from dbt.adapters.lakemerge.dbt_errors import SparkStatementError
from dbt.mp_context import get_mp_context
from dbt_common.exceptions import DbtDatabaseError, DbtRuntimeError
from pyspark.errors import PySparkException

from lakemerge.errors import JavaDied, MetastoreUnreachable, UnsupportedTable


@pytest.fixture
def manager() -> LakemergeConnectionManager:
    profile: Any = SimpleNamespace(credentials=None)
    return LakemergeConnectionManager(profile, get_mp_context())


def connection(state: ConnectionState, handle: Any = None) -> Connection:
    credentials: Any = None
    return Connection(type="lakemerge", name=str(state), credentials=credentials, state=state, handle=handle)  # type: ignore[arg-type]


def test_an_environment_error_is_one_line_for_dbt(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(*_: Any) -> None:
        raise MetastoreUnreachable(expected="a metastore", found="none", action="Start it.")

    monkeypatch.setattr(connections, "application", unreachable)
    opened = connection(ConnectionState.INIT)
    with pytest.raises(FailedToConnectError, match=r"Expected a metastore; found none\. Start it\."):
        LakemergeConnectionManager.open(opened)
    assert opened.state == ConnectionState.FAIL


def test_a_connection_without_java_is_not_opened_to_be_closed(
    manager: LakemergeConnectionManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries = []

    def dead(*_: Any) -> None:
        tries.append("open")
        raise JavaDied(expected="Java to stay alive", found="that it was killed", action="Run again.")

    monkeypatch.setattr(connections, "application", dead)
    used = connection(ConnectionState.INIT, _lazy(LakemergeConnectionManager.open))
    with pytest.raises(DbtRuntimeError, match="JavaDied"):
        _ = used.handle
    manager.close(used)
    assert tries == ["open"]
    with pytest.raises(DbtRuntimeError, match="JavaDied"):
        _ = used.handle


def test_cancelling_ends_the_other_open_connections_and_opens_none(
    manager: LakemergeConnectionManager,
) -> None:
    cancelled = []
    handle = SimpleNamespace(cancel=lambda: cancelled.append("open"))

    def open_it(_: Connection) -> Connection:
        raise AssertionError("a connection was opened in order to be cancelled")

    unused = connection(ConnectionState.INIT, _lazy(open_it))
    manager.thread_connections = {1: connection(ConnectionState.OPEN, handle), 2: unused}
    assert manager.cancel_open() == ["open"]
    assert cancelled == ["open"]
    manager.cleanup_all()


def test_a_connection_that_opens_after_the_others_were_cancelled_runs_nothing(
    manager: LakemergeConnectionManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A node may have begun, without any statement yet, when Ctrl-C cancels the others."""
    cancelled: list[str] = []
    monkeypatch.setattr(
        connections, "application", lambda *_: SimpleNamespace(new_session=lambda settings: None)
    )
    monkeypatch.setattr(connections, "session_settings", lambda _: {})
    monkeypatch.setattr(
        connections,
        "ConnectionHandle",
        lambda app, session, name, reads: SimpleNamespace(cancel=lambda: cancelled.append(name)),
    )

    def open_one(name: str) -> None:
        one = connection(ConnectionState.INIT)
        one.name = name
        manager.open(one)

    manager.cancel_open()
    with ThreadPoolExecutor(1) as others:
        open_one("the run's end")
        others.submit(open_one, "a node").result()
        assert cancelled == ["a node"]
        manager.cleanup_all()
        others.submit(open_one, "a node of the next run").result()
    assert cancelled == ["a node"]


def _lazy(opener: Any) -> Any:
    return LazyHandle(opener)


class Missing(PySparkException):
    """An error of Java's, as each release of pyspark has it."""

    def getCondition(self) -> str:  # noqa: N802
        return "TABLE_OR_VIEW_NOT_FOUND"

    getErrorClass = getCondition  # noqa: N815


def test_errors_of_spark_carry_their_condition(manager: LakemergeConnectionManager) -> None:
    with pytest.raises(SparkStatementError) as error, manager.exception_handler("select 1"):
        raise Missing("no table t")
    assert error.value.condition == "TABLE_OR_VIEW_NOT_FOUND"
    assert isinstance(error.value, DbtDatabaseError)


def test_errors_of_the_kernel_keep_their_line(manager: LakemergeConnectionManager) -> None:
    with (
        pytest.raises(DbtRuntimeError, match=r"Expected a; found b\. Do c\."),
        manager.exception_handler("x"),
    ):
        raise UnsupportedTable(expected="a", found="b", action="Do c.")


@pytest.mark.parametrize("error", [DbtRuntimeError("as it is"), KeyError("a mistake of ours")])
def test_other_errors_pass_unchanged(manager: LakemergeConnectionManager, error: Exception) -> None:
    with pytest.raises(type(error)) as raised, manager.exception_handler("x"):
        raise error
    assert raised.value is error
