"""What the kernel logs, in dbt's own log."""

from __future__ import annotations

import logging

from dbt.adapters.events.logging import AdapterLogger
from dbt.adapters.lakemerge.spark.dbt_log import warn_only

_ADAPTER_LOGGER = AdapterLogger("Lakemerge")


class _ToDbt(logging.Handler):
    """Hands records over to dbt's events, at their level."""

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if record.levelno >= logging.WARNING:
            warn_only(text)
        elif record.levelno >= logging.INFO:
            _ADAPTER_LOGGER.info(text)
        else:
            _ADAPTER_LOGGER.debug(text)


def show_kernel_log() -> None:
    """Show the kernel's messages as dbt shows its own; harmless when done already."""
    logger = logging.getLogger("lakemerge")
    if not any(isinstance(handler, _ToDbt) for handler in logger.handlers):
        logger.addHandler(_ToDbt())
        logger.setLevel(logging.INFO)
        logger.propagate = False
