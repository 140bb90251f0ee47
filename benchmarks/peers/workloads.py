"""What is merged: tables, and feeds of changes, as SQL that any Spark runs."""

from __future__ import annotations

from dataclasses import dataclass

#: A tenth each: 0 to 5 update, 6 and 7 insert, 8 and 9 delete; of every tenth the last three keys change 2 or 3 times.
_KINDS, _REPEATED = 10, 7


@dataclass(frozen=True)
class Workload:
    """A table, and merges into it one after another.

    Attributes:
        rows: of the table before the first merge.
        changed: keys that a merge changes.
        warm_up: keys that the first merge changes, which is not counted; 0 where the first rounds are not counted.
        first: the first round that is counted, from 1.
        rounds: merges in all.
        one_partition: whether the changes of a merge are all in one partition.
    """

    name: str
    rows: int
    partitions: int
    changed: int
    warm_up: int
    first: int
    rounds: int
    one_partition: bool = False

    def base_sql(self) -> str:
        """The rows of the table, as a feed: with ``op``."""
        return f"select {self._row('id', '0')}, 'U' as op from range({self.rows})"

    def feed_sql(self, number: int) -> str:
        """The changes of one round, each newer than all of the rounds before; a key has each sequence once."""
        count = self.warm_up if number == 1 and self.warm_up else self.changed
        if count == 1:
            key = f"{self._stored(number, '0')}"
            return f"select {self._row(key, str(number * 10))}, 'U' as op from range(1)"
        fresh = f"{self.rows} + {number} * {self.rows} + slot"
        if self.one_partition:
            fresh = f"({fresh}) * {self.partitions} + 7"
        return f"""
            select {self._row("key", f"({number} * 10 + change)")}, if(kind >= 8, 'D', 'U') as op
            from (
                select kind, change, if(kind in (6, 7), {fresh}, {self._stored(number, "slot")}) as key
                from (select id as slot, id % {_KINDS} as kind from range({count}))
                lateral view explode(
                    sequence(1, if(slot % {_KINDS} < {_REPEATED}, 1, 2 + cast(slot % 2 as int)))
                ) as change
            )
        """

    def _stored(self, number: int, slot: str) -> str:
        """The key of a stored row, another one for each slot: a prime steps through all of them."""
        if self.one_partition:
            keys = self.rows // self.partitions
            return f"(({slot} * 7919 + {number} * 104729) % {keys}) * {self.partitions} + 7"
        return f"({slot} * 7919 + {number} * 104729) % {self.rows}"

    def _row(self, key: str, version: str) -> str:
        """Twelve columns, whose values follow from the key and the number of the change."""
        return f"""
            cast({key} as bigint) as id,
            cast(pmod(xxhash64({key}, {version}), 100000) / 100.0 as decimal(12, 2)) as price,
            cast(pmod(xxhash64({key}, {version}, 1), 5000) as int) as stock,
            concat('product ', {key} % 977, ' of line ', pmod(xxhash64({key}), 5000)) as title,
            concat('brand-', pmod(xxhash64({key}, 2), 800)) as brand,
            element_at(array('new', 'used', 'refurbished', 'open box'), cast({key} % 4 as int) + 1) as condition,
            pmod(xxhash64({key}, 3), 2) = 0 as active,
            cast(pmod(xxhash64({key}, {version}, 4), 1000000) / 7.0 as double) as score,
            cast(date'2020-01-01' + cast(pmod(xxhash64({key}, 5), 2000) as int) as date) as listed_on,
            sha1(cast({key} as string)) as reference,
            timestamp_seconds(1700000000 + {version} * 1000 + {key} % 1000) as updated_at,
            concat('region-', lpad(cast({key} % {self.partitions} as string), 5, '0')) as region
        """


def workloads(rows: int, repeats: int) -> dict[str, Workload]:
    """All of them by name.

    Args:
        rows: of the large table.
        repeats: merges into it that are counted.
    """
    share, last = rows * 3 // 100, 1 + repeats
    made = (
        Workload("scattered", rows, 20, share, rows // 50, 2, last),
        Workload("one partition", rows, 20, share, rows // 50, 2, last, one_partition=True),
        Workload("small", 100, 20, 10, 0, 11, 30),
        Workload("20 partitions", 10_000, 20, 1, 0, 11, 30),
        Workload("2,000 partitions", 10_000, 2_000, 1, 0, 11, 20),
        Workload("10,000 partitions", 10_000, 10_000, 1, 0, 11, 20),
    )
    return {workload.name: workload for workload in made}
