"""Rows of a range of event times, as dbt's microbatches and samples have it: in SQL, whatever the column's type."""

from __future__ import annotations

import re
from datetime import datetime, time, timedelta, timezone

from lakemerge.engine.sql_text import quote

_QUOTED = re.compile(r'"([^"]+)"')


def in_range_sql(event_time: str, start: datetime | None, end: datetime | None) -> str:
    """SQL that is true for rows from the start (inclusive) to the end (exclusive); empty where there is no bound.

    The bounds are in UTC, and event times without a zone are taken for UTC: dates (their midnight), ``timestamp_ntz``,
    and text, of which a zone at its end is not read. The session's time zone has no part in it.

    The type of the column decides, and Spark knows it before it plans the query: of the cases, it keeps the one that
    applies, a plain comparison with constants, by which partitions and files are skipped.

    Args:
        event_time: a column or an expression; a name in double quotes, as dbt quotes columns, is a column here too.
        start, end: with a time zone, or in UTC.
    """
    quoted = _QUOTED.fullmatch(event_time)
    value = quote(quoted.group(1)) if quoted else event_time
    bounds = [(sign, _utc(bound)) for sign, bound in ((">=", start), ("<", end)) if bound]
    if not bounds:
        return ""
    texts = [(sign, _text(bound)) for sign, bound in bounds]
    dates = " and ".join(f"{value} {sign} date'{_first_date(bound)}'" for sign, bound in bounds)
    unzoned = " and ".join(f"{value} {sign} timestamp_ntz'{text}'" for sign, text in texts)
    spelled = " and ".join(
        f"cast({value} as timestamp_ntz) {sign} timestamp_ntz'{text}'" for sign, text in texts
    )
    instants = " and ".join(f"{value} {sign} timestamp_ltz'{text}+00:00'" for sign, text in texts)
    return (
        f"(case when typeof({value}) = 'date' then {dates} when typeof({value}) = 'timestamp_ntz' then {unzoned} "
        f"when typeof({value}) like 'string%' then {spelled} else {instants} end)"
    )


def _utc(bound: datetime) -> datetime:
    return bound.astimezone(timezone.utc).replace(tzinfo=None) if bound.tzinfo else bound


def _text(bound: datetime) -> str:
    return bound.isoformat(sep=" ", timespec="microseconds")


def _first_date(bound: datetime) -> str:
    """The first date whose midnight is not before a bound."""
    begun = bound.time() > time()
    return (bound.date() + timedelta(days=begun)).isoformat()
