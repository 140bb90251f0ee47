from __future__ import annotations

import logging
import os
import signal
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from py4j.protocol import Py4JError, Py4JNetworkError

from lakemerge.engine.spark.java_process import (
    JavaProcess,
    keep_calls_without_answer_quiet,
    lost_connection,
)


def _raise_lost_call() -> bool:
    raise Py4JNetworkError("no answer")


def process_of(gateway: Any, folder: Path) -> JavaProcess:
    session: Any = None
    return JavaProcess(session, gateway, (folder,), "2g")


def ended(folder: Path, script: str) -> str:
    """What is said of a process that did this."""
    process = subprocess.Popen(["sh", "-c", script], cwd=folder)
    death = process_of(SimpleNamespace(proc=process), folder).death(wait=10)
    assert death is not None
    return str(death)


@pytest.mark.parametrize("code", [3, 52])
def test_what_ran_out_of_memory_is_told_how_to_get_more(tmp_path: Path, code: int) -> None:
    text = ended(tmp_path, f"exit {code}")
    assert f"found that it ran out of memory (OutOfMemoryError, exit code {code})." in text
    assert "spark.driver.memory in `server_side_parameters` (it had 2g)" in text


def test_a_kill_is_told_with_the_machines_memory_as_its_likely_cause(tmp_path: Path) -> None:
    text = ended(tmp_path, "kill -9 $$")
    assert "found that it was killed (signal 9, SIGKILL)." in text
    assert "no memory left" in text


@pytest.mark.parametrize("script", ["kill -15 $$", "exit 143"])
def test_another_signal_is_told_by_its_name(tmp_path: Path, script: str) -> None:
    """Java that ends in good order, by its shutdown hooks, gives 128 more than the signal."""
    assert "ended from outside (signal 15, SIGTERM)" in ended(tmp_path, script)


def test_the_report_of_a_crash_is_named(tmp_path: Path) -> None:
    text = ended(tmp_path, "touch hs_err_pid$$.log; kill -6 $$")
    assert "it crashed (signal 6, SIGABRT)" in text
    (report,) = tmp_path.iterdir()
    assert f"Its report is {report}." in text


def test_every_end_says_what_stands_and_what_to_do(tmp_path: Path) -> None:
    for script in ("exit 0", "exit 1", "exit 3", "kill -9 $$", "kill -1 $$"):
        text = ended(tmp_path, script)
        assert text.startswith("Expected the Java process that runs Spark to stay alive; found that it ")
        assert "Committed work stays. Run again" in text
        assert "its rows would be there twice" in text, (
            "an append that had been claimed is not the same twice"
        )


def test_a_living_process_has_no_death(tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "60"]) as process:
        java = process_of(SimpleNamespace(proc=process), tmp_path)
        assert java.death() is None
        process.send_signal(signal.SIGKILL)
        assert java.death(wait=10) is not None


def test_a_process_that_others_started_is_dead_when_nothing_listens(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = SimpleNamespace(address="127.0.0.1", port=server.getsockname()[1])
        java = process_of(SimpleNamespace(gateway_parameters=address), tmp_path)
        assert java.death(wait=1) is None
    assert "nothing answers in its place" in str(java.death(wait=1))
    assert java.death() is None, "it is not asked without a reason"


def test_a_call_without_an_answer_is_found_below_other_errors() -> None:
    assert lost_connection(Py4JNetworkError("no answer"))
    assert lost_connection(Py4JError("An error occurred while calling o1.sql"))
    assert lost_connection(ConnectionRefusedError(111, os.strerror(111)))
    above = RuntimeError("the model failed")
    above.__cause__ = Py4JNetworkError("no answer")
    assert lost_connection(above)
    assert not lost_connection(ValueError("a value"))


@pytest.mark.parametrize(
    ("is_stopped", "ending"),
    [(lambda: True, True), (lambda: False, False), (_raise_lost_call, True)],
)
def test_java_is_ending_when_spark_is_shut_down_in_it(
    tmp_path: Path, is_stopped: Callable[[], bool], *, ending: bool
) -> None:
    context = SimpleNamespace(sc=lambda: SimpleNamespace(isStopped=is_stopped))
    session: Any = SimpleNamespace(sparkContext=SimpleNamespace(_jsc=context))
    assert JavaProcess(session, None, (tmp_path,), "2g").is_ending() is ending
    shut_down_from_here: Any = SimpleNamespace(sparkContext=SimpleNamespace(_jsc=None))
    assert not JavaProcess(shut_down_from_here, None, (tmp_path,), "2g").is_ending()


def test_tracebacks_of_py4j_stay_out_of_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    keep_calls_without_answer_quiet()
    record = logging.LogRecord("root", logging.ERROR, "/x/py4j/java_gateway.py", 1, "No answer.", (), None)
    logging.getLogger().handle(record)
    filters: list[Any] = logging.getLogger().filters
    assert not any(one.filter(record) for one in filters)
    other = logging.LogRecord("root", logging.ERROR, "/x/mine.py", 1, "An error.", (), None)
    assert all(one.filter(other) for one in filters)
    assert "No answer." not in capsys.readouterr().err
