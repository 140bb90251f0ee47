"""Warnings of lakemerge in dbt's log."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest
from dbt.adapters.events.logging import AdapterLogger
from dbt.adapters.lakemerge.dbt_log import show_engine_log
from dbt_common.events.base_types import EventMsg
from dbt_common.events.event_manager_client import get_event_manager
from dbt_common.exceptions import EventCompilationError

from lakemerge.engine.failures import CAUTION


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """The level and the text of what dbt is told from now on."""
    events: list[tuple[str, str]] = []

    def keep(event: EventMsg) -> None:
        events.append((str(event.info.level), str(event.data.base_msg)))

    monkeypatch.setattr(get_event_manager(), "callbacks", [keep])
    return events


@pytest.fixture
def _raising_warnings(monkeypatch: pytest.MonkeyPatch) -> None:
    """As `--warn-error` and `require_all_warnings_handled_by_warn_error`."""
    monkeypatch.setattr(get_event_manager(), "require_warn_or_error_handling", True)
    monkeypatch.setattr(get_event_manager(), "_warn_error", True)


@pytest.fixture
def kernel_logger() -> Iterator[logging.Logger]:
    """The kernel's logger, shown by dbt, and left as it was."""
    logger = logging.getLogger("lakemerge")
    handlers, level, propagate = list(logger.handlers), logger.level, logger.propagate
    show_engine_log()
    yield logger
    logger.handlers[:] = handlers
    logger.setLevel(level)
    logger.propagate = propagate


@pytest.mark.usefixtures("_raising_warnings")
def test_a_warning_of_the_kernel_does_not_end_what_goes_on(
    kernel_logger: logging.Logger, told: list[tuple[str, str]]
) -> None:
    with pytest.raises(EventCompilationError):
        AdapterLogger("Lakemerge").warning("as dbt has it")
    kernel_logger.warning("version %d was finished by another process", 3)
    assert told == [("error", "version 3 was finished by another process")]


@pytest.mark.usefixtures("_raising_warnings", "kernel_logger")
def test_a_warning_before_a_commit_may_end_it() -> None:
    with pytest.raises(EventCompilationError):
        CAUTION.warning("the table keeps its format")


@pytest.mark.usefixtures("kernel_logger")
def test_what_is_said_at_other_levels_is_shown_at_them(told: list[tuple[str, str]]) -> None:
    logging.getLogger("lakemerge").info("100% done")
    logging.getLogger("lakemerge").debug("planned")
    assert told == [("info", "100% done"), ("debug", "planned")]


def test_otherwise_it_is_a_warning(kernel_logger: logging.Logger, told: list[tuple[str, str]]) -> None:
    kernel_logger.warning("a commit is given up")
    assert told == [("warn", "a commit is given up")]
