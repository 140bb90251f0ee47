"""``lakemerge stream``: ingest models that run until they are stopped."""

from __future__ import annotations

import dataclasses
import json
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime

import click
import tenacity
from dbt.adapters.lakemerge.cli.project import DbtFailed, Project

from lakemerge.errors import InvalidConfig, LakemergeError
from lakemerge.ingest.continuous import BatchReport, Continuous, running

# After this many tries since the last committed batch, the command gives up.
_TRIES = 6
_LONGEST_WAIT = 60


@click.command()
@click.option(
    "--select", "-s", "selectors", multiple=True, required=True, help="Ingest models, as dbt selects them."
)
@click.option(
    "--project-dir", type=click.Path(exists=True, file_okay=False), help="The folder of dbt_project.yml."
)
@click.option(
    "--profiles-dir", type=click.Path(exists=True, file_okay=False), help="The folder of profiles.yml."
)
@click.option("--profile", help="The profile, if not the project's.")
@click.option("--target", "-t", help="The target of the profile.")
@click.option("--vars", "variables", help="Variables of the project, as YAML.")
@click.option("--target-path", type=click.Path(file_okay=False), help="Where dbt leaves its artifacts.")
@click.option("--log-path", type=click.Path(file_okay=False), help="Where dbt leaves its log.")
@click.option(
    "--log-format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="How to print batches on standard output, one line each.",
)
def stream(selectors: Sequence[str], log_format: str, **options: str | None) -> None:
    """Ingest files as they land, in small commits, until SIGTERM or SIGINT.

    The current batch is finished first. A second signal ends the process immediately, which leaves the table as it
    was before that batch or after it. A model with `trigger: available_now` ends when it has read everything.
    """
    names = {"variables": "vars"}
    given = [
        part
        for name, value in options.items()
        if value is not None
        for part in (f"--{names.get(name, name).replace('_', '-')}", value)
    ]
    try:
        _stream(Project(given), selectors, _as_json if log_format == "json" else _as_text)
    except LakemergeError as error:
        raise click.ClickException(f"{type(error).__name__}: {error}") from error


def _stream(project: Project, selectors: Sequence[str], form: Callable[[BatchReport], str]) -> None:
    models = project.models(selectors)
    others = [name for name, kind in models.items() if kind != "ingest"]
    if others or not models:
        raise InvalidConfig(
            expected="--select to choose models of materialized: ingest",
            found=", ".join(others) or "no model",
            action="Select only ingest models, for example with config.materialized:ingest.",
        )
    continuous = Continuous(lambda report: click.echo(form(report)))
    with running(continuous), _stopped_by_signals(continuous):
        _in_background(lambda: _run(project, selectors, len(models), continuous))
    click.echo(f"Stopped after {continuous.batches} batches.", err=True)


def _run(project: Project, selectors: Sequence[str], threads: int, continuous: Continuous) -> None:
    """Run until stopped; retry failures that may be temporary.

    Raises:
        DbtFailed: the failure is not temporary, or came too often without a batch in between.
    """

    def attempt() -> None:
        continuous.failures.clear()
        if not continuous.is_stopped:
            project.run(selectors, threads)

    def pause(seconds: float) -> None:
        continuous.wait(seconds)

    retrying = tenacity.Retrying(
        retry=tenacity.retry_if_exception(
            lambda error: isinstance(error, DbtFailed) and _may_be_temporary(continuous.failures)
        ),
        stop=_Patience(continuous),
        wait=tenacity.wait_random_exponential(multiplier=1, max=_LONGEST_WAIT),
        sleep=pause,
        before_sleep=_log_retry,
        reraise=True,
    )
    retrying(attempt)


class _Patience(tenacity.stop.stop_base):
    """Stops after this many tries in a row without a batch, or when the run is to end."""

    def __init__(self, continuous: Continuous) -> None:
        self._continuous = continuous
        self._batches = self._tries = 0

    def __call__(self, retry_state: tenacity.RetryCallState) -> bool:
        batches = self._continuous.batches
        self._tries = 1 if batches > self._batches else self._tries + 1
        self._batches = batches
        return self._tries >= _TRIES or self._continuous.is_stopped


def _log_retry(state: tenacity.RetryCallState) -> None:
    error = state.outcome.exception() if state.outcome else None
    click.echo(f"{error} Retrying in {state.upcoming_sleep:.0f} s.", err=True)


def _may_be_temporary(failures: Sequence[BaseException]) -> bool:
    """Whether the first failure may be temporary; later ones are a consequence of it."""
    if not failures:
        return False
    error = failures[0]
    cause = error if isinstance(error, LakemergeError) else error.__cause__
    return bool(getattr(cause, "retriable", False))


@contextmanager
def _stopped_by_signals(continuous: Continuous) -> Iterator[None]:
    """Make SIGTERM and SIGINT end the run after the current batch, and make a second signal end the process."""

    def stop(number: int, _frame: object) -> None:
        continuous.stop()
        click.echo("Stopping after the current batch.", err=True)
        for one in before:
            signal.signal(one, signal.SIG_DFL)

    before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _in_background(action: Callable[[], None]) -> None:
    """Run an action in a thread, so that this one is free for signals, and Spark sets no handlers of its own."""
    failure: list[BaseException] = []

    def run() -> None:
        try:
            action()
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits
            failure.append(error)

    thread = threading.Thread(target=run, name="lakemerge-stream", daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(1)
    if failure:
        raise failure[0]


def _as_text(report: BatchReport) -> str:
    read = ", ".join(f"{count:,} {unit}" for unit, count in report.read.items())
    behind = ", ".join(f"{count:,} {unit}" for unit, count in report.behind.items())
    rate = f"{report.rate:,.0f}" if report.rate >= 10 else f"{report.rate:.1f}"
    dropped = f", {report.dropped:,} dropped" if report.dropped else ""
    return (
        f"{datetime.now():%H:%M:%S} {report.table} version {report.version}: {report.inserted:,} inserted, "
        f"{report.quarantined:,} quarantined{dropped} of {read} in {report.seconds:.1f} s "
        f"({rate} records/s); behind: {behind}"
    )


def _as_json(report: BatchReport) -> str:
    return json.dumps({**dataclasses.asdict(report), "rate": round(report.rate, 1)})
