"""Warnings in dbt's log of what cannot be stopped any more."""

from __future__ import annotations

from dbt.adapters.events.logging import AdapterLogger
from dbt_common.exceptions import EventCompilationError

_LOGGER = AdapterLogger("Lakemerge")


def warn_only(text: str) -> None:
    """Warn, and raise nothing: where dbt makes an error of the warning, it is shown as one.

    With `--warn-error` and `require_all_warnings_handled_by_warn_error`, dbt raises it: in the midst of a commit, or
    after it, so that the node fails whose rows are published, and is run again.
    """
    try:
        _LOGGER.warning(text)
    except EventCompilationError:
        _LOGGER.error(text)
