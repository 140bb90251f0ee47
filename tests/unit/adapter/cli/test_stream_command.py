"""`lakemerge stream` with a dbt project that only pretends to run."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import pytest
from click.testing import CliRunner, Result
from dbt.adapters.lakemerge.cli import cli
from dbt.adapters.lakemerge.cli import stream_command as command
from dbt.adapters.lakemerge.cli.project import DbtFailed

from lakemerge.errors import BadRecords, MetastoreUnreachable
from lakemerge.ingest.continuous import BatchReport, Continuous, current

REPORT = BatchReport(
    table="shop.alerts",
    version=7,
    inserted=1198,
    quarantined=2,
    dropped=0,
    read={"files": 3, "bytes": 4000},
    behind={"files": 1, "bytes": 1500},
    seconds=2.0,
)


class FakeProject:
    """Runs what a test gives it in the place of dbt."""

    models_found: dict[str, str]
    run_instead: Callable[[Continuous], None]
    given: ClassVar[list[str]]
    selected: ClassVar[list[str]]
    threads: ClassVar[int]

    def __init__(self, options: Sequence[str]) -> None:
        self.options = options
        FakeProject.given = list(options)

    def models(self, selectors: Sequence[str]) -> dict[str, str]:
        FakeProject.selected = list(selectors)
        return self.models_found

    def run(self, selectors: Sequence[str], threads: int) -> None:
        FakeProject.threads = threads
        continuous = current()
        assert continuous is not None
        type(self).run_instead(continuous)


@pytest.fixture
def streamed(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Calls the command: ``streamed(run, *arguments)``; ``run`` gets the continuous run."""
    monkeypatch.setattr(command, "Project", FakeProject)
    monkeypatch.setattr(command, "_LONGEST_WAIT", 0)
    FakeProject.models_found = {"model.shop.alerts": "ingest", "model.shop.orders": "ingest"}

    def call(run: Callable[[Continuous], None], *arguments: str) -> Result:
        FakeProject.run_instead = staticmethod(run)
        return CliRunner().invoke(cli, ["stream", "--select", "alerts", "--select", "orders", *arguments])

    return call


def failing(continuous: Continuous, cause: Exception) -> None:
    error = RuntimeError("as dbt got it")
    error.__cause__ = cause
    continuous.fail(error)
    raise DbtFailed(expected="dbt run to succeed", found=str(cause), action="Look.")


def unreachable() -> MetastoreUnreachable:
    return MetastoreUnreachable(expected="a metastore", found="none", action="Start it.")


def test_each_batch_is_told_in_a_line(streamed: Callable[..., Result], tmp_path: Any) -> None:
    result = streamed(lambda continuous: continuous.report(REPORT), "--target", "prod", "--vars", "{a: 1}")
    assert result.exit_code == 0
    assert result.stdout.strip().endswith(
        "shop.alerts version 7: 1,198 inserted, 2 quarantined of 3 files, 4,000 bytes in 2.0 s (600 records/s); "
        "behind: 1 files, 1,500 bytes"
    )
    assert FakeProject.selected == ["alerts", "orders"]
    assert FakeProject.threads == 2
    assert sorted(FakeProject.given) == sorted(["--target", "prod", "--vars", "{a: 1}"])


def test_batches_as_json(streamed: Callable[..., Result]) -> None:
    result = streamed(lambda continuous: continuous.report(REPORT), "--log-format", "json")
    reported = json.loads(result.stdout)
    assert (reported["quarantined"], reported["behind"], reported["rate"]) == (
        2,
        {"files": 1, "bytes": 1500},
        600.0,
    )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_run_after_the_batch_under_way(
    streamed: Callable[..., Result], number: signal.Signals
) -> None:
    before = signal.getsignal(number)

    def run(continuous: Continuous) -> None:
        os.kill(os.getpid(), number)
        assert continuous.wait(30)
        continuous.report(REPORT)

    result = streamed(run)
    assert result.exit_code == 0
    assert "version 7" in result.stdout
    assert "Stopped after 1 batches" in result.stderr
    assert signal.getsignal(number) == before


def test_only_ingest_models(streamed: Callable[..., Result]) -> None:
    FakeProject.models_found = {"model.shop.alerts": "ingest", "model.shop.master": "incremental"}
    result = streamed(lambda continuous: None)
    assert result.exit_code == 1
    assert "InvalidConfig" in result.stderr
    assert "found model.shop.master" in result.stderr
    FakeProject.models_found = {}
    assert "found no model" in streamed(lambda continuous: None).stderr


def test_a_selection_is_needed() -> None:
    result = CliRunner().invoke(cli, ["stream"])
    assert result.exit_code == 2
    assert "--select" in result.stderr


def test_what_may_pass_is_tried_again(streamed: Callable[..., Result]) -> None:
    runs = []

    def run(continuous: Continuous) -> None:
        runs.append(1)
        if len(runs) < 3:
            failing(continuous, unreachable())

    result = streamed(run)
    assert (result.exit_code, len(runs)) == (0, 3)
    assert result.stderr.count("Retrying in") == 2


def test_tries_are_counted_from_the_last_batch(streamed: Callable[..., Result]) -> None:
    runs = []

    def run(continuous: Continuous) -> None:
        runs.append(1)
        if len(runs) == 4:
            continuous.report(REPORT)
        failing(continuous, unreachable())

    result = streamed(run)
    assert result.exit_code == 1
    assert len(runs) == 9  # six in a row without a batch after it
    assert "DbtFailed" in result.stderr


def test_what_does_not_pass_ends_the_run(streamed: Callable[..., Result]) -> None:
    runs = []

    def run(continuous: Continuous) -> None:
        runs.append(1)
        failing(continuous, BadRecords(expected="few", found="many", action="Mend the files."))

    result = streamed(run)
    assert (result.exit_code, len(runs)) == (1, 1)
    assert "found many" in result.stderr


def test_a_defect_is_no_failure_of_dbts(streamed: Callable[..., Result]) -> None:
    def run(continuous: Continuous) -> None:
        raise ZeroDivisionError

    assert isinstance(streamed(run).exception, ZeroDivisionError)
