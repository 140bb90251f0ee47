"""Which records of Kafka's topics are to be read, and how far each partition has been read.

The offsets are kept with the commits that hold the records: in a folder of side data (``offsets``) with one JSON
object. A commit replaces it as a whole, so another commit that read the same topics meanwhile is a conflict.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lakemerge.errors import CorruptTable, OffsetOutOfRange, TopicReplaced
from lakemerge.kernel import FileSystem, Transaction

KIND = "offsets"
_NAME = "offsets.json"

#: Offsets by topic and partition.
Offsets = Mapping[str, Mapping[int, int]]


@dataclass(frozen=True)
class TopicRules:
    """Which topics are read, by the names that Spark gives its options.

    Attributes:
        subscribe: the topics.
        options: for Spark's reader, ``kafka.bootstrap.servers`` among them.
        starting_offsets: where to begin a topic that was never read: ``earliest``, ``latest``, or offsets by topic and
            partition, in which -2 is the earliest and -1 the latest.
        max_offsets: about this many offsets in one batch; 0 for no limit.
        fail_on_data_loss: whether records that are gone before they were read are an error.
        keeps_tombstones: whether records without a value count as bad ones; otherwise they are left out.
    """

    subscribe: tuple[str, ...]
    options: Mapping[str, str]
    starting_offsets: str | Offsets = "earliest"
    max_offsets: int = 0
    fail_on_data_loss: bool = True
    keeps_tombstones: bool = True


@dataclass(frozen=True)
class TopicState:
    """What the brokers say of a topic.

    Attributes:
        id: assigned when the topic was created; empty if the brokers are too old to report it.
        partitions: for each, the earliest offset still there and the one after the last.
    """

    id: str
    partitions: Mapping[int, tuple[int, int]]


@dataclass(frozen=True)
class ReadTopic:
    """How far a topic has been read.

    Attributes:
        id: the topic's id when it was read; empty if unknown.
        next: the offset after the last that was read, by partition.
    """

    id: str
    next: Mapping[int, int]


@dataclass(frozen=True)
class OffsetRange:
    """Records of one partition, from ``start`` up to but not including ``end``."""

    topic: str
    partition: int
    start: int
    end: int

    @property
    def name(self) -> str:
        """Topic and partition as Kafka writes them."""
        return f"{self.topic}-{self.partition}"

    def __len__(self) -> int:
        return self.end - self.start


@dataclass
class TopicArrivals:
    """What a look at the topics found.

    Attributes:
        chosen: to be read now; none of them is empty.
        topics: how far all topics have been read once ``chosen`` is read.
        backlog: how many offsets are left for later batches.
        is_news: whether ``topics`` differs from what the last commit says, even if there are no records.
        lost: what was deleted before it was read, in words; one text for each partition.
    """

    chosen: list[OffsetRange] = field(default_factory=list)
    topics: dict[str, ReadTopic] = field(default_factory=dict)
    backlog: int = 0
    is_news: bool = False
    lost: list[str] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to commit."""
        return not self.is_news

    @property
    def counts(self) -> dict[str, int]:
        """What the result of a run reports."""
        return {"offsets": sum(map(len, self.chosen)), "backlog": self.backlog}

    @property
    def read(self) -> dict[str, int]:
        """How much is read."""
        return {"offsets": sum(map(len, self.chosen))}

    @property
    def behind(self) -> dict[str, int]:
        """How much is left, in the same units."""
        return {"offsets": self.backlog}


class OffsetLedger:
    """How far the version that a transaction builds on has read."""

    def __init__(self, topics: Mapping[str, ReadTopic], last_batch: int) -> None:
        """
        Args:
            last_batch: the number of the newest batch; 0 for none.
        """
        self.topics = topics
        self.last_batch = last_batch

    @classmethod
    def of(cls, files: FileSystem, transaction: Transaction, *, replaced: bool = False) -> OffsetLedger:
        """The ledger that a transaction goes on from: an empty one if it replaces the table.

        Raises:
            CorruptTable: it cannot be read.
        """
        base = None if replaced else transaction.base
        folders = base.sidecars.get(KIND, ()) if base else ()
        return _read(files, transaction.layout.absolute(folders[-1])) if folders else cls({}, 0)

    @staticmethod
    def record(
        files: FileSystem, transaction: Transaction, topics: Mapping[str, ReadTopic], batch: int
    ) -> None:
        """Write how far topics have been read into the transaction's side data."""
        directory = transaction.sidecar_directory(KIND)
        body = {name: {"id": topics[name].id, "next": topics[name].next} for name in sorted(topics)}
        text = json.dumps({"batch": batch, "topics": body}, indent=1)
        files.write_text(f"{directory}/{_NAME}", f"{text}\n")
        transaction.set_sidecars(KIND, [directory])


def _read(files: FileSystem, folder: str) -> OffsetLedger:
    path = f"{folder}/{_NAME}"
    try:
        body = json.loads(files.read_text(path))
        topics = {
            name: ReadTopic(
                str(topic["id"]), {int(number): int(end) for number, end in topic["next"].items()}
            )
            for name, topic in body["topics"].items()
        }
        return OffsetLedger(topics, int(body["batch"]))
    except (FileNotFoundError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise CorruptTable(
            expected=f"the offsets already read, in {path}",
            found=f"{type(error).__name__}: {error}",
            action="Restore the file from a backup, or run with --full-refresh to read from startingOffsets.",
        ) from error


def look_at_topics(
    rules: TopicRules, ledger: OffsetLedger, found: Mapping[str, TopicState], until: Offsets | None = None
) -> TopicArrivals:
    """Find what is to be read.

    Args:
        ledger: how far topics have been read.
        found: the topics of ``rules`` as they are.
        until: records from these offsets on are for another run, as are partitions without an entry here.

    Raises:
        OffsetOutOfRange: records were deleted before they were read, and that is an error.
        TopicReplaced: a topic was deleted and created again, and that is an error.
    """
    arrivals = TopicArrivals(topics=dict(ledger.topics))
    waiting: list[OffsetRange] = []
    for name, state in found.items():
        starts = _starts(rules, name, state, ledger.topics.get(name), arrivals.lost)
        for partition, start in starts.items():
            latest = state.partitions[partition][1]
            end = latest if until is None else min(latest, until.get(name, {}).get(partition, start))
            waiting.append(OffsetRange(name, partition, start, max(start, end)))
    ends: dict[str, dict[int, int]] = {name: {} for name in found}
    for item, end in zip(waiting, _limited(waiting, rules.max_offsets), strict=True):
        ends[item.topic][item.partition] = end
        arrivals.backlog += item.end - end
        if end > item.start:
            arrivals.chosen.append(OffsetRange(item.topic, item.partition, item.start, end))
    arrivals.topics.update({name: ReadTopic(found[name].id, ends[name]) for name in found})
    arrivals.is_news = arrivals.topics != dict(ledger.topics)
    return arrivals


def _starts(
    rules: TopicRules, name: str, state: TopicState, known: ReadTopic | None, lost: list[str]
) -> dict[int, int]:
    """Where to continue or begin each partition of a topic."""
    if known is None:
        return {number: _begin(rules, name, number, ends) for number, ends in state.partitions.items()}
    if known.id and state.id and known.id != state.id:
        if rules.fail_on_data_loss:
            raise TopicReplaced(
                expected=f"the topic {name} with the id {known.id}, which was read before",
                found=f"one with the id {state.id}: it was deleted and created again",
                action="The table keeps what was read of the old one. To add the new one from its beginning, run once "
                "with failOnDataLoss: false. To have only the new one, run with --full-refresh.",
            )
        lost.append(f"{name} was deleted and created again; it is read from its beginning")
        return {number: earliest for number, (earliest, _) in state.partitions.items()}
    starts = {}
    for number, (earliest, latest) in state.partitions.items():
        # nothing of an added partition has been read, whatever startingOffsets says of topics
        start = known.next.get(number, earliest)
        if not earliest <= start <= latest:
            problem = _out_of_range(f"{name}-{number}", start, earliest, latest)
            if rules.fail_on_data_loss:
                raise problem
            lost.append(f"{problem.found}, of {problem.expected}")
            start = earliest if start < earliest else latest
        starts[number] = start
    return starts


def _begin(rules: TopicRules, name: str, partition: int, ends: tuple[int, int]) -> int:
    """Where to begin a partition that was never read."""
    earliest, latest = ends
    given = rules.starting_offsets
    if isinstance(given, str):
        return latest if given == "latest" else earliest
    start = given.get(name, {}).get(partition, -2)
    start = {-2: earliest, -1: latest}.get(start, start)
    if not earliest <= start <= latest:
        raise _out_of_range(f"{name}-{partition}", start, earliest, latest)
    return start


def _out_of_range(partition: str, start: int, earliest: int, latest: int) -> OffsetOutOfRange:
    if start < earliest:
        found = f"that they begin at {earliest}: {earliest - start} offsets are gone"
    else:
        found = f"that they end before {latest}: the partition was cut or set back"
    return OffsetOutOfRange(
        expected=f"records of {partition} from offset {start} on",
        found=found,
        action="To continue with the records that are left, run once with failOnDataLoss: false; to read them into a "
        "new table, run with --full-refresh. To prevent this, keep topics longer or ingest more often.",
    )


def _limited(waiting: Sequence[OffsetRange], limit: int) -> list[int]:
    """The ends of what is read now: each partition gets a share of the limit by what waits in it, at least one."""
    total = sum(map(len, waiting))
    if not limit or total <= limit:
        return [item.end for item in waiting]
    return [item.start + min(len(item), max(1, len(item) * limit // total)) for item in waiting]
