"""Calls to the metastore that got no answer: they may still be carried out, after others have gone on.

Only the version of a table is compared with, so nothing stops such a call from moving, adding or dropping partitions
that later commits have moved, removed or made again. So the table's row says which commits it may come from, before
anybody can go on. While it does, whoever commits, recovers or vacuums looks at what they could have touched.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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


def send_all(
    left: Callable[[], Sequence[T]],
    write: Callable[[T], object],
    holds: Callable[[], bool],
    unanswered: Callable[[], None] = lambda: None,
    *,
    first: Sequence[T] | None = None,
) -> bool:
    """Send idempotent writes until nothing is left to do, each only if a condition holds at that moment.

    What is left is asked for again after each write without an answer: a call may be carried out although its answer is
    always cut off. An answer that never comes is waited for as long as a connection lasts, and other processes go on
    meanwhile.

    Args:
        unanswered: called each time that no answer comes.
        first: what is left, if that was just asked.

    Returns:
        Whether the condition held: before each write or, where nothing was left to do, then.

    Raises:
        ReplyLost: no answer came so many times in a row, and nothing of it was carried out.
    """
    found = left() if first is None else first
    in_vain = 0
    while found:
        lost: ReplyLost | None = None
        for one in found:
            if not holds():
                return False
            try:
                write(one)
            except ReplyLost as error:
                unanswered()
                lost = error
                break
        if lost is None:
            return True
        before, found = found, left()
        in_vain = in_vain + 1 if len(found) >= len(before) else 0
        if in_vain == SENDS:
            raise lost
    return holds()
