"""Runs that read only a part of their sources: dbt's flags ``--empty`` and ``--sample``."""

from __future__ import annotations

from dbt.flags import get_flags


def reads_no_rows() -> bool:
    """Whether this run only makes tables with their columns (``--empty``)."""
    return bool(getattr(get_flags(), "EMPTY", False))


def reads_a_part() -> bool:
    """Whether this run may read less than its sources hold: no rows, or a sample of them (``--sample``).

    In such a run, a row that the feed lacks may still be in the source, so nothing is deleted for its absence.
    """
    return reads_no_rows() or getattr(get_flags(), "SAMPLE", None) is not None
