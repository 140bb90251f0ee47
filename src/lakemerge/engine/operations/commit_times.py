"""Which version a table had at a time, for people who ask: commits are ordered by number and never by a clock."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timezone

from lakemerge.errors import InvalidConfig
from lakemerge.kernel import Manifest


def version_at(commits: Iterable[Manifest], at: str) -> int:
    """The last version that was committed by a time; 0 before the first.

    Args:
        commits: the table's commits, the newest first, as far as they are kept.
        at: ISO 8601; UTC where it names no zone.

    Raises:
        InvalidConfig: the text is no time, or the commits that would show the version are vacuumed.
    """
    time = time_of(at)
    oldest: Manifest | None = None
    for commit in commits:
        oldest = commit
        if datetime.fromisoformat(commit.committed_at) <= time:
            return commit.version
    if oldest is not None and oldest.parent is not None:
        raise InvalidConfig(
            expected=f"a time of which commits are kept, from {oldest.committed_at} on",
            found=at,
            action="Give the version itself: the rows of a bitemporal history have it in known_from and known_to.",
        )
    return 0


def time_of(text: str) -> datetime:
    """A time as people write it: ISO 8601; in UTC where it names no zone. Raises InvalidConfig."""
    try:
        time = datetime.fromisoformat(f"{text[:-1]}+00:00" if text[-1:] in "zZ" else text)
    except ValueError as error:
        raise InvalidConfig(
            expected="a time such as 2026-03-01 12:00:00", found=repr(text), action="Correct it."
        ) from error
    return time if time.tzinfo else time.replace(tzinfo=timezone.utc)
