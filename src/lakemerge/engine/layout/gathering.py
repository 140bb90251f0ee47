"""How the rows of rewritten partitions come into few files.

Spark's tasks read files of several partitions, and each task writes a file of its own into every partition that it has
rows for. A shuffle gathers the rows of a partition, and costs a fifth of a rewrite. To do without one, a query is made
of parts: each is for some of the partitions only, and one task runs it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lakemerge.engine.layout.joins import ONE_TASK
from lakemerge.engine.layout.partitions import Partitions, partition_filter

#: By a shuffle.
REBALANCE = "rebalance"
#: Each task writes the rows that it has read.
AS_READ = ""

# The fewest compressed bytes that are worth a task of their own, and the most for one task, as Spark's default has it.
_LEAST_BYTES, _MOST_BYTES = 4 * 1024 * 1024, 128 * 1024 * 1024
# A part with up to this many bytes is never too large for its task.
_SMALL = 16 * 1024 * 1024
# How many times its share the largest part may have; with more, the other tasks would wait for it.
_UNEVEN = 1.5
# More parts take Spark longer to plan than they save, and so do more columns in all parts together.
_PARTS, _COLUMNS = 16, 400


@dataclass(frozen=True)
class Part:
    """Partitions that one part of the query writes.

    Attributes:
        filter: SQL over the stored rows that is true in them.
        changes: SQL over the rows to be written, ``__new_row``, which is true for those that belong to these
            partitions; for each row it is true in one of all parts.
    """

    filter: str
    changes: str = "true"


@dataclass(frozen=True)
class Gathering:
    """How the touched partitions are written.

    Attributes:
        hint: ``one_task`` where one task runs each part, ``rebalance``, or empty where each task writes the rows that
            it has read.
        parts: of the query; most queries have one.
    """

    hint: str
    parts: Sequence[Part]


def by_tasks(
    partitions: Partitions, touched: Iterable[str], *, tasks: int, columns: int, file_size: int
) -> Gathering | None:
    """One task for each of several parts; ``None`` where these would be too many, too large or too uneven.

    Args:
        tasks: how many can run at the same time.
        columns: of the table.
        file_size: bytes that a file should have.
    """
    sizes = partitions.sizes(touched)
    total, largest = sum(sizes.values()), max(sizes.values(), default=0)
    if not sizes or largest > file_size or partitions.needs_all(sizes):
        return None
    wanted = max(1, min(tasks, total // _LEAST_BYTES), -(-total // _MOST_BYTES))
    count = min(wanted, len(sizes))
    if count > 1 and (count > _PARTS or count * columns > _COLUMNS):
        return None
    groups = _even(sizes, count)
    load = max(sum(sizes[name] for name in group) for group in groups)
    if load > max(_SMALL, _UNEVEN * total / wanted):
        return None
    return Gathering(ONE_TASK, _parts(partitions, groups))


def _even(sizes: dict[str, int], count: int) -> list[list[str]]:
    """Groups of about the same size: the largest partition first, each into the group that has the fewest bytes."""
    groups: list[list[str]] = [[] for _ in range(count)]
    loads = [0] * count
    for name in sorted(sizes, key=lambda name: (-sizes[name], name)):
        place = min(range(count), key=lambda place: (loads[place], len(groups[place])))
        groups[place].append(name)
        loads[place] += sizes[name]
    return groups


def _parts(partitions: Partitions, groups: Sequence[list[str]]) -> list[Part]:
    """The conditions of groups, no two of which have partitions of the same values."""
    filters = [partitions.filter(group) for group in groups]
    others = [
        f"coalesce({partition_filter(partitions.columns, group, '__new_row.')}, false)"
        for group in groups[1:]
    ]
    # a row that no condition matches, because its value is not read back from a partition's name as it was written,
    # belongs to the first part
    first = f"not ({' or '.join(others)})" if others else "true"
    return [Part(condition, changes) for condition, changes in zip(filters, [first, *others], strict=True)]
