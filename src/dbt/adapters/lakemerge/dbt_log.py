"""What the engine and the kernel log, in dbt's own log."""

from __future__ import annotations

import logging

from dbt.adapters.events.logging import AdapterLogger
from dbt_common.exceptions import EventCompilationError

from lakemerge.engine.failures import CAUTION

_DBT = AdapterLogger("Lakemerge")


class _ToDbt(logging.Handler):
    """Hands records over to dbt's events, at their level."""

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if record.name == CAUTION.name:
            _DBT.warning(text)
        elif record.levelno >= logging.WARNING:
            warn_only(text)
        elif record.levelno >= logging.INFO:
            _DBT.info(text)
        else:
            _DBT.debug(text)


def warn_only(text: str) -> None:
    """Warn, and raise nothing: where dbt turns the warning into an error, it is logged as an error.

    With `--warn-error` and `require_all_warnings_handled_by_warn_error`, dbt raises the warning, in the middle of a
    commit or after it. A node would then fail although its rows are published, and would be run again.
    """
    try:
        _DBT.warning(text)
    except EventCompilationError:
        _DBT.error(text)


def show_engine_log() -> None:
    """Show messages of the engine and the kernel as dbt shows its own; harmless when done already."""
    logger = logging.getLogger("lakemerge")
    if not any(isinstance(handler, _ToDbt) for handler in logger.handlers):
        logger.addHandler(_ToDbt())
        logger.setLevel(logging.DEBUG)
        logger.propagate = False
