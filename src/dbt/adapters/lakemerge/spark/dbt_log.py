"""Warnings in dbt's log about what can no longer be stopped."""

from __future__ import annotations

from dbt.adapters.events.logging import AdapterLogger
from dbt_common.exceptions import EventCompilationError

_LOGGER = AdapterLogger("Lakemerge")


def warn_only(text: str) -> None:
    """Warn, and raise nothing: where dbt turns the warning into an error, it is logged as an error.

    With `--warn-error` and `require_all_warnings_handled_by_warn_error`, dbt raises the warning, in the middle of a
    commit or after it. A node would then fail although its rows are published, and would be run again.
    """
    try:
        _LOGGER.warning(text)
    except EventCompilationError:
        _LOGGER.error(text)
