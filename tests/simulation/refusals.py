"""Refusals that last: a metastore whose database cannot hold some value, for a whole run."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from lakemerge.kernel import HiveColumn, HivePartition, HiveTable
from lakemerge.kernel.ports.metastore import Refused

#: What no row may have, in a comment, a parameter or a partition's value.
REFUSED = "☃"


@dataclass(frozen=True)
class Refusal:
    """A kind of call that is refused for some time, or until somebody corrects it.

    Attributes:
        call: which; empty for none.
        since, until: in simulated seconds.
    """

    call: str = ""
    since: float = 0.0
    until: float = math.inf

    @classmethod
    def of(cls, dice: random.Random, calls: Sequence[str], now: float) -> Refusal:
        """Draw one."""
        since = now + dice.choice((0.0, 0.0, 1.0, 5.0, 20.0))
        return cls(dice.choice(calls), since, since + dice.choice((math.inf, math.inf, 60.0, 150.0)))

    def accept(self, call: str, now: float) -> None:
        """Refuse a call of this kind.

        Raises:
            Refused: it is one.
        """
        if call == self.call and self.since <= now < self.until:
            raise Refused(call, "MetaException", "permission denied")


NONE = Refusal()


def accept(call: str, rows: Iterable[HiveTable | HivePartition]) -> None:
    """Refuse rows that have what cannot be held.

    Raises:
        Refused: one has it.
    """
    if any(REFUSED in text for row in rows for text in _texts(row)):
        raise Refused(call, "MetaException", f"the database cannot hold {REFUSED}")


def _texts(row: HiveTable | HivePartition) -> Iterator[str]:
    yield from row.parameters.values()
    yield from _comments(row.storage.columns)
    if isinstance(row, HivePartition):
        yield from row.values
    else:
        yield from _comments(row.partition_columns)
        yield row.view_text


def _comments(columns: Iterable[HiveColumn]) -> Iterator[str]:
    for column in columns:
        yield from (column.name, column.comment)
