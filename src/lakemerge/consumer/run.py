"""A run of one or more consumers: what is new in one commit, then suspects, in commits of their own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lakemerge.consumer.batch import Batch, Left
from lakemerge.consumer.choice import Spent
from lakemerge.consumer.consumer import Consumer


class Run:
    """The batches of a run, a commit's worth at a time.

    New partitions come first and are committed before any suspect is touched: partitions that make runs fail or die can
    neither hold it up nor take it with them. Suspects follow in groups, each in a commit of its own, until none is
    left or the limits are spent. So a run without limits that meets no failure leaves nothing.

    Attributes:
        left: what stays unprocessed, one entry per consumer, as of the last batches.
    """

    def __init__(self, consumers: Sequence[Consumer], *, rebuild: bool = False, once: bool = False) -> None:
        """
        Args:
            consumers: those that write to one output, by the same commits.
            rebuild: the output is rebuilt, by one commit of everything.
            once: make one commit only, whatever is left.
        """
        self._consumers = consumers
        self._rebuild = rebuild
        self._once = once or rebuild
        self.left: list[Left] = []

    def __iter__(self) -> Iterator[list[Batch]]:
        """The batches of each commit, one per consumer; the first ones come even if there is nothing to take.

        End each with :meth:`Batch.succeed` or :meth:`Batch.fail` before the next; after a failure, take no more.

        Raises:
            See :meth:`Consumer.claim`; then nothing is taken, and what was committed stands.
        """
        batches = self._claim(suspects=None if self._rebuild else False)
        if not _takes_any(batches) and _suspects(batches):
            batches = self._claim(suspects=True)
        yield batches
        while not self._once and _suspects(batches):
            batches = self._claim(suspects=True, before=batches)
            if not _takes_any(batches):
                return
            yield batches

    def _claim(self, *, suspects: bool | None, before: Sequence[Batch] = ()) -> list[Batch]:
        spent = [batch.spent for batch in before] or [Spent()] * len(self._consumers)
        batches: list[Batch] = []
        try:
            for consumer, so_far in zip(self._consumers, spent, strict=True):
                batches.append(consumer.claim(rebuild=self._rebuild, suspects=suspects, spent=so_far))
        except BaseException as error:
            for batch in batches:
                batch.fail(f"another source could not be consumed: {error}", blame=False)
            raise
        self.left = [batch.left for batch in batches]
        return batches


def _takes_any(batches: Sequence[Batch]) -> bool:
    return any(batch.items for batch in batches)


def _suspects(batches: Sequence[Batch]) -> bool:
    return any(batch.left.suspects for batch in batches)
