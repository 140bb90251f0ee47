"""Consumers of a simulated table, and what must hold of their output."""

from __future__ import annotations

import datetime
import json
import random
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from kernel.consuming import consume, consumer_of, replayed, version_texts
from lakemerge.consumer import Batch, Options
from lakemerge.errors import CommitUnfinished, ConsumerExpired, LakemergeError
from lakemerge.kernel import Kernel, TableName
from simulation.checker import Commit, Violation
from simulation.operations import Model, Operation

OUTPUT = TableName("s", "copy")


class BadRecord(Exception):
    """A run's own failure."""


@dataclass
class Consume(Operation):
    """Some runs of a consumer, each of which takes what is new; some fail on the way.

    Attributes:
        limits: of partitions, one a run; ``None`` for none.
        failing: how likely a run is to fail.
        changes: whether it follows changes, and not partitions.
    """

    limits: tuple[int | None, ...] = (None,)
    failing: float = 0.0
    changes: bool = False
    dice: random.Random = field(default_factory=random.Random)

    def apply(self, model: Model) -> None:
        raise AssertionError("it makes versions of another table")

    def attempt(self, kernel: Kernel) -> int | None:
        for limit in self.limits:
            try:
                consume(kernel, self.table, OUTPUT, options(limit, self.changes), work=self._work)
            except (BadRecord, CommitUnfinished):
                continue
            except FileNotFoundError:
                self.found_files_gone = True
            except LakemergeError:
                kernel.clock.sleep(kernel.host.chance() * 10)
        return None

    def _work(self, batch: Batch) -> None:
        if self.dice.random() < self.failing:
            raise BadRecord
        batch.consumer.kernel.clock.sleep(self.dice.choice((0.0, 0.0, 5.0, 100.0)))


#: More runs than any source of a simulation needs.
_MOST_RUNS = 100


def options(limit: int | None = None, changes: bool = False) -> Options:
    """With enough retries that nothing is given up."""
    timeout = datetime.timedelta(seconds=60)
    return Options(limit=limit, timeout=timeout, max_retries=1000, changes=changes)


def drain(kernel: Kernel, source: TableName, *, changes: bool = False) -> None:
    """Run until nothing is left; a consumer that says that its source is another table by now begins anew."""
    if changes:
        return _drain_changes(kernel, source)
    try:
        _drain(kernel, source)
    except ConsumerExpired:
        consumer_of(kernel, source, OUTPUT, options()).reset()
        _drain(kernel, source)


def _drain_changes(kernel: Kernel, source: TableName) -> None:
    """What the output has of changes must lead to the source's newest version."""
    _drain(kernel, source, changes=True)
    state = kernel.open(source)
    wanted = version_texts(kernel, state, state.txn)
    found = replayed(kernel, OUTPUT) if kernel.exists(OUTPUT) else Counter()
    if found != wanted:
        raise Violation(f"the changes in the output lead to {sorted(found)}; the source has {sorted(wanted)}")


def _drain(kernel: Kernel, source: TableName, *, changes: bool = False) -> None:
    for _ in range(_MOST_RUNS):
        if not consume(kernel, source, OUTPUT, options(changes=changes)):
            return
    raise Violation(f"after {_MOST_RUNS} runs of a consumer there is still something to consume")


def check(commits: list[Commit], facts: Counter[str], earlier: Counter[str]) -> None:
    """Each fact of the source is in the output once at the end, and never twice in between.

    Args:
        facts: the source's rows.
        earlier: those of tables that had its name before.
    """
    seen: Counter[str] = Counter()
    most = facts + earlier
    for commit in commits:
        now = Counter(_fact(json.loads(row)) for row in commit.rows)
        if twice := [fact for fact, count in now.items() if count > most.get(fact, 1)]:
            raise Violation(f"version {commit.version} of the output has {twice} twice")
        if gone := seen - now:
            raise Violation(f"version {commit.version} of the output has lost {sorted(gone)}")
        seen = now
    if facts - seen or seen - most:
        raise Violation(f"the output holds {sorted(seen)}; the source {sorted(facts)}")


def _fact(line: Any) -> str:
    """The source's row in a line of the output, which begins with the partition's name."""
    text = str(line).partition(" ")[2]
    (fact,) = json.loads(text)
    return str(fact)
