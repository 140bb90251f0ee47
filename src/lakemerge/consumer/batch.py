"""The partitions that a run has taken: the fence around its commit, and how they end."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from lakemerge.consumer.choice import Spent
from lakemerge.consumer.items import Item, SourceSnapshot
from lakemerge.consumer.progress import Key, Progress, read_progress, write_progress
from lakemerge.consumer.working_set import AVAILABLE, IN_PROGRESS, PROCESSED, Contents, Row, WorkingSet
from lakemerge.errors import ConsumerFenced, LakemergeError, SourceChanged
from lakemerge.kernel import Kernel, Manifest, TableName, Transaction

_LOG = logging.getLogger("lakemerge")


@dataclass(frozen=True)
class Left:
    """The partitions that a batch leaves unprocessed, by the reason why.

    Attributes:
        waiting: they exceed the limits, or arrived after the run began.
        suspects: runs failed or died with them, so they are tried separately.
        not_ready: ``ready`` is not true for them yet.
        in_progress: other runs have them.
        discarded: too many runs failed or died with them.
    """

    waiting: int = 0
    suspects: int = 0
    not_ready: int = 0
    in_progress: int = 0
    discarded: int = 0

    @property
    def available(self) -> int:
        """How many a run may take."""
        return self.waiting + self.suspects

    @property
    def total(self) -> int:
        return self.available + self.not_ready + self.in_progress + self.discarded

    def __str__(self) -> str:
        """A short text, such as ``31 for the next run, 1 discarded``; empty if nothing is left."""
        words = {
            "for the next run": self.waiting,
            "to be retried separately": self.suspects,
            "not ready": self.not_ready,
            "in progress in other runs": self.in_progress,
            "discarded": self.discarded,
        }
        return ", ".join(f"{count} {word}" for word, count in words.items() if count)


class Taker(Protocol):
    """What a batch needs from the consumer that took it."""

    key: Key
    kernel: Kernel
    source: TableName
    output: TableName
    working_set: WorkingSet

    @property
    def max_retries(self) -> int:
        """How often a partition may fail after its first failure before it is discarded."""

    def now(self) -> str:
        """This moment as rows keep it, ISO 8601 in UTC."""

    def pin(self, progress: Progress) -> None:
        """Keep vacuum from deleting what the consumer has yet to read."""


@dataclass(frozen=True)
class Batch:
    """The partitions that a run has taken.

    Attributes:
        items: the partitions; empty when nothing is to be done.
        snapshot: the source as it was when they were taken.
        progress: the consumer's progress before this run.
        progress_after: what this run adds to it.
        left: what stays unprocessed.
        spent: the suspects that the run has taken, including those of this batch.
    """

    consumer: Taker
    run: str
    items: tuple[Item, ...]
    snapshot: SourceSnapshot
    progress: Progress
    progress_after: Progress
    rebuild: bool = False
    left: Left = Left()
    spent: Spent = field(default_factory=Spent)

    @property
    def key(self) -> Key:
        return self.consumer.key

    def files(self) -> list[tuple[str, str]]:
        """The files to read: URI, and the name of the partition.

        Raises:
            SourceChanged: another program has written into a partition since its commit; run again.
        """
        found = []
        for item in self.items:
            if item.files:
                found += [(file.rsplit("|", 2)[0], item.partition) for file in item.files]
                continue
            snapshot, entries = self.consumer.kernel.files.snapshot(item.location)
            if not item.mark.endswith(f"@{snapshot.digest}"):
                self._take_in(item)
                raise self._changed(item)
            found += [(entry.path, item.partition) for entry in entries]
        return found

    def _take_in(self, item: Item) -> None:
        """Commit another program's writes to a lakemerge source as a version that the next run takes."""
        self.consumer.kernel.commit_external_changes(self.consumer.source, [item.partition])

    def _changed(self, item: Item) -> SourceChanged:
        return SourceChanged(
            expected=f"the files of {item.partition or self.consumer.source} not to change after this run took them",
            found=f"others at {item.location}",
            action="This run did not publish them. Run again to take them as they are now.",
        )

    def _check_files(self) -> None:
        """Files without versions may change while they are read."""
        for item in self.items:
            if item.files:
                _, entries = self.consumer.kernel.files.snapshot(item.location)
                present = {f"{entry.path}|{entry.size}|{entry.modified}" for entry in entries}
                if not present >= set(item.files):
                    raise self._changed(item)

    def check(self, parent: Manifest | None) -> None:
        """Refuse the commit if another run has, or may have, these partitions.

        Args:
            parent: the version of the output that the commit is to follow.

        Raises:
            ConsumerFenced, SourceChanged: see there.
        """
        self._check_files()
        if parent is not None and not self.rebuild:
            self._check_progress(parent)
        rows = self.consumer.working_set.read().rows.get(self.key, {})
        lost = [
            item.partition
            for item in self.items
            if item.partition not in rows
            or (rows[item.partition].run, rows[item.partition].state) != (self.run, IN_PROGRESS)
        ]
        if lost:
            raise self._fenced(
                lost, "that another run has taken them, because this one was taken for dead or too slow"
            )

    def _check_progress(self, parent: Manifest) -> None:
        state = self.consumer.kernel.open(self.consumer.output)
        committed = read_progress(self.consumer.kernel, state.layout, parent).get(self.key)
        if committed is None:
            return
        names = [item.partition for item in self.items]
        if committed.generation != self.progress.generation:
            raise self._fenced(names, "that the consumer was reset, or its output rebuilt, meanwhile")
        done = [
            item.partition
            for item in self.items
            if committed.done.get(item.partition) != self.progress.done.get(item.partition)
            or committed.has_passed(item)
        ]
        if done:
            raise self._fenced(done, "that another run has committed them")

    def _fenced(self, partitions: Sequence[str], found: str) -> ConsumerFenced:
        shown = ", ".join(name or "the table" for name in partitions[:3])
        source, name = self.key
        return ConsumerFenced(
            expected=f"consumer {name} of {source} to have {len(partitions)} partitions ({shown}…) in this run",
            found=found,
            action="This run did not publish them. Run again to take what is left.",
        )

    def succeed(self) -> None:
        """Record that the output is committed. If this fails, the next run finds out by itself."""
        try:
            at = self.consumer.now()
            self._end(lambda row: replace(row, state=PROCESSED, reason="", changed_at=at))
            self.consumer.pin(self.progress_after)
        except LakemergeError as error:
            _LOG.warning("The working set of %s was not brought up to date: %s", self.consumer.output, error)

    def fail(self, reason: str, *, blame: bool = True) -> None:
        """Give the partitions back.

        Args:
            reason: what went wrong, for people.
            blame: whether the partitions may be the cause, so that it counts as their failure.
        """
        retries = self.consumer.max_retries
        at = self.consumer.now()
        self._end(
            lambda row: (
                row.failed(reason, retries, at)
                if blame
                else replace(row, state=AVAILABLE, reason=reason, changed_at=at)
            )
        )

    def _end(self, after: Callable[[Row], Row]) -> None:
        def change(contents: Contents) -> Contents:
            rows = {
                name: after(row) if (row.run, row.state) == (self.run, IN_PROGRESS) else row
                for name, row in contents.rows.get(self.key, {}).items()
            }
            return contents.with_rows(self.key, rows)

        try:
            if self.items:
                self.consumer.working_set.update(change)
        finally:
            with contextlib.suppress(LakemergeError):
                self.consumer.kernel.heartbeats.stop(self.consumer.working_set.layout, self.run)


def record(kernel: Kernel, transaction: Transaction, batches: Sequence[Batch]) -> None:
    """Make what a transaction of the output consumes part of its commit, which fails if another run was faster."""
    taken = [batch for batch in batches if batch.items]
    if taken:
        write_progress(kernel, transaction, {batch.key: batch.progress_after for batch in taken})
    for batch in taken:
        transaction.require(batch.check)
