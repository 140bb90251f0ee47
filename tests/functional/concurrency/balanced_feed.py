"""Models merged from a feed that follows from the number of its round alone, so that a reader knows what it must see.

Rows come in pairs whose amounts have one sum. A round changes, moves or deletes both rows of a pair or none of them.
"""

from __future__ import annotations

from typing import Any

PAIRS = 300
#: The first row of a pair and the second: of pair k, 2 k and 2 k + 1.
_MODEL = """
{{{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id', sequence_by='round',
          apply_as_deletes='gone', except_column_list=['gone'], partition_by='part', write_mode='{mode}',
          max_attempts=100) }}}}
{{% set round = var('round', 1) %}}
with pairs as (
    select id as k from range({pairs}) where {{{{ round }}}} = 1 or (id * 31 + {{{{ round }}}} * 17) % 3 = 0
)
select
    2 * k + side as id,
    cast({{{{ round }}}} as bigint) as round,
    1000 + (1 - 2 * side) * ((k * 7919 + {{{{ round }}}} * 104729) % 1000) as amount,
    (k + {{{{ round }}}}) % 5 = 0 as gone,
    cast((k + side + {{{{ round }}}}) % 4 as int) as part
from pairs lateral view explode(array(0, 1)) as side
"""
_DIGEST = (
    "select max(round), count(*), count(distinct id), sum(amount), sum(id * amount), sum(id * round + part)"
)

#: Number of the last round, rows, keys, the sum of the amounts, and two sums that any other row changes.
Digest = list[int]


def model(write_mode: str) -> str:
    """The text of a model; its variable ``round`` tells which changes it gets."""
    return _MODEL.format(mode=write_mode, pairs=PAIRS)


def query(table: str) -> str:
    """Reads a table's :data:`Digest`."""
    return f"{_DIGEST} from {table}"


class Expected:
    """The digests after each round."""

    def __init__(self) -> None:
        self._rows: dict[int, tuple[int, int, int]] = {}
        self._digests: list[Digest] = [[]]

    def after(self, last: int) -> Digest:
        while len(self._digests) <= last:
            self._merge(len(self._digests))
            rows = self._rows.items()
            self._digests.append(
                [
                    max(number for number, _, _ in self._rows.values()),
                    len(rows),
                    len(rows),
                    sum(amount for _, (_, amount, _) in rows),
                    sum(key * amount for key, (_, amount, _) in rows),
                    sum(key * number + part for key, (number, _, part) in rows),
                ]
            )
        return self._digests[last]

    def _merge(self, number: int) -> None:
        for pair in range(PAIRS):
            if number != 1 and (pair * 31 + number * 17) % 3:
                continue
            for side in (0, 1):
                amount = 1000 + (1 - 2 * side) * ((pair * 7919 + number * 104729) % 1000)
                self._rows[2 * pair + side] = (number, amount, (pair + side + number) % 4)
                if (pair + number) % 5 == 0:
                    del self._rows[2 * pair + side]

    def check(self, found: list[Any], at_least: int) -> int:
        """Fail unless a digest is that of one round, and no earlier one than this; returns the round."""
        last = int(found[0] or 0)
        assert last >= at_least, f"round {last}, but {at_least} stood before the read began"
        assert found[3] == 1000 * found[1], f"{found[3]} in {found[1]} rows: a pair is torn"
        assert found == self.after(last), f"{found}, not {self.after(last)}"
        return last
