"""Calls to the metastore that got no answer: they may still be carried out, after others have gone on.

Only the version of a table is compared with, so nothing stops such a call from moving, adding or dropping partitions
that later commits have moved, removed or made again. So the table's row says which commits it may come from, before
anybody can go on. While it does, whoever commits, recovers or vacuums looks at what they could have touched.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

from lakemerge.kernel.ports.metastore import HiveTable, ReplyLost
from lakemerge.kernel.table.definition import with_parameters

T = TypeVar("T")

#: The table parameter: entries of ``<transaction>@<milliseconds>``, with a blank between two of them. ``*`` follows the
#: transaction if calls may also concern partitions that it has not changed.
UNSURE = "lakemerge.unsure"
#: A call is not carried out later than this after its client has sent it, in milliseconds.
LONGEST_CALL = 24 * 3600 * 1000
#: How often an idempotent write is sent, the first time included, as long as replies are lost.
SENDS = 4
# More entries than this become one that stands for all of them: a parameter's value has at most 4,000 characters.
_MOST = 50


@dataclass(frozen=True)
class Unsure:
    """Calls that may still come, and move partitions to where a version has them, or drop those that it removes.

    Attributes:
        txn: the version's transaction.
        since: when the last of them may have been sent, in the file system's milliseconds.
        everywhere: whether they may concern any partition; otherwise only those that the transaction has changed.
    """

    txn: str
    since: int
    everywhere: bool = False

    def __str__(self) -> str:
        return f"{self.txn}{'*' if self.everywhere else ''}@{self.since}"


def unsure_of(table: HiveTable, now: Callable[[], int]) -> list[Unsure]:
    """What a table's row says of calls that may still come; ``now`` is asked only if it says anything."""
    text = table.parameters.get(UNSURE, "")
    if not text:
        return []
    oldest = now() - LONGEST_CALL
    found = [_parsed(entry) for entry in text.split()]
    return [entry for entry in found if entry is not None and entry.since > oldest]


def with_unsure(table: HiveTable, entry: Unsure) -> HiveTable:
    """A table's row that also says this, and no longer what is too old by then."""
    others = [
        other
        for other in unsure_of(table, lambda: entry.since)
        if (other.txn, other.everywhere) != (entry.txn, entry.everywhere)
    ]
    entries = [*others, entry] if len(others) < _MOST else [replace(entry, everywhere=True)]
    return with_parameters(table, {UNSURE: " ".join(map(str, entries))})


def _parsed(entry: str) -> Unsure | None:
    txn, _, since = entry.partition("@")
    if not since.isdigit():
        return None  # of a later version of lakemerge, or changed by hand
    return Unsure(txn.removesuffix("*"), int(since), everywhere=txn.endswith("*"))


def send(write: Callable[[], T], unanswered: Callable[[], None] = lambda: None) -> T:
    """Send an idempotent write again until an answer comes; ``unanswered`` is called each time that none does."""
    for number in range(1, SENDS + 1):
        try:
            return write()
        except ReplyLost:
            unanswered()
            if number == SENDS:
                raise
    raise AssertionError("the last one returns or raises")


def send_while(
    holds: Callable[[], bool], write: Callable[[], T], unanswered: Callable[[], None] = lambda: None
) -> T | None:
    """Send an idempotent write again until an answer comes, each time only if a condition holds at that moment.

    An answer that never comes is waited for as long as a connection lasts, and other processes go on meanwhile.

    Returns:
        ``None`` if the condition no longer held.
    """
    return send(lambda: write() if holds() else None, unanswered)
