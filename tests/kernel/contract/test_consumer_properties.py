"""Whatever arrives and whatever happens to runs, each partition is in the committed output once."""

from __future__ import annotations

import contextlib
import itertools
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from examples import OFTEN
from kernel.consuming import consume, consumer_of, counted, publish, replayed, texts_of
from kernel.sites import Site
from kernel.support import (
    NO_RETENTION,
    append,
    assert_whole,
    compact,
    create,
    create_appendable,
    merge,
    rewrite,
    rows_of,
)
from lakemerge.consumer import Batch, Left, Options, Run, WorkingSet
from lakemerge.errors import ConsumerFenced
from lakemerge.kernel import Kernel, TableName
from lakemerge.kernel.maintenance.vacuum import vacuum

_NUMBERS = itertools.count(1)

LIMITS = st.sampled_from([1, 2, 5])
EVENTS = st.one_of(
    st.tuples(st.just("arrive"), st.integers(1, 4)),
    st.tuples(st.just("run"), LIMITS),
    st.tuples(st.just("fail"), LIMITS),
    st.tuples(st.just("die before the commit"), LIMITS),
    st.tuples(st.just("die after the commit"), LIMITS),
    st.tuples(st.just("two runs at once"), LIMITS),
    st.tuples(st.sampled_from(["wake", "compact", "vacuum", "forget the working set"]), st.just(0)),
)


class Story:
    """A source and its consumer, and what happens to them."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.kernel = Kernel(site.ports())
        number = next(_NUMBERS)
        self.source, self.output = (TableName("default", f"story{number}_{part}") for part in ("in", "out"))
        self.dead: list[Batch] = []
        self._texts = itertools.count(1)
        self.begin()

    def begin(self) -> None:
        create_appendable(self.kernel, self.source, {"p=0": ["0"]})
        self.arrived = Counter(["0"])

    def happen(self, event: str, number: int) -> None:
        getattr(self, event.replace(" ", "_"))(number)

    def _options(self, limit: int) -> Options:
        return Options(limit=limit, max_retries=1000)

    def arrive(self, number: int) -> None:
        rows = {f"p={part}": [str(next(self._texts))] for part in range(number)}
        append(self.kernel, self.source, rows)
        self.arrived.update(text for texts in rows.values() for text in texts)

    def run(self, limit: int) -> None:
        consume(self.kernel, self.source, self.output, self._options(limit))

    def two_runs_at_once(self, limit: int) -> None:
        def one(_: int) -> list[str]:
            return consume(Kernel(self.site.ports()), self.source, self.output, self._options(limit))

        with ThreadPoolExecutor(2) as pool:
            taken = [part for run in pool.map(one, range(2)) for part in run]
        assert len(set(taken)) == len(taken)

    def fail(self, limit: int) -> None:
        consumer_of(self.kernel, self.source, self.output, self._options(limit)).claim().fail("a bad record")

    def die_before_the_commit(self, limit: int) -> Batch:
        options = self._options(limit)
        batch = consumer_of(Kernel(self.site.ports()), self.source, self.output, options).claim()
        self.dead.append(batch)
        batch.consumer.kernel.heartbeats.stop(batch.consumer.working_set.layout, batch.run)
        return batch

    def die_after_the_commit(self, limit: int) -> None:
        self.publish(self.die_before_the_commit(limit))

    def wake(self, _: int) -> None:
        """One that is dead to the others goes on: once it commits, or it is fenced."""
        if self.dead:
            with contextlib.suppress(ConsumerFenced):
                self.publish(self.dead.pop())

    def compact(self, _: int) -> None:
        compact(self.kernel, self.source)

    def vacuum(self, _: int) -> None:
        for name in (self.source, self.output):
            if self.kernel.exists(name):
                vacuum(self.kernel, name, retention=NO_RETENTION, dry_run=False, allow_short_retention=True)

    def forget_the_working_set(self, _: int) -> None:
        WorkingSet(self.kernel, self.output).drop()

    def publish(self, batch: Batch) -> None:
        if batch.items:
            publish(batch.consumer.kernel, self.output, texts_of(batch), batch)

    def found(self) -> Counter[str]:
        if not self.kernel.exists(self.output):
            return Counter()
        rows = rows_of(self.kernel, self.output)
        return counted([text for texts in rows.values() for text in texts])

    def check(self) -> None:
        """After one run without limits nothing is missing, as that run says."""
        options = replace(self._options(1), limit=None)
        run = Run([consumer_of(self.kernel, self.source, self.output, options)])
        for (batch,) in run:
            self.publish(batch)
            batch.succeed()
        assert run.left == [Left()]
        assert self.found() == self.arrived
        self.kernel.recover(self.output)
        assert_whole(self.kernel, self.output)

    def check_so_far(self) -> None:
        """Nothing is there twice."""
        assert self.found() <= self.arrived


class StoryOfChanges(Story):
    """A source whose partitions are replaced, and a consumer of its changes: what it has is a version of the source."""

    def begin(self) -> None:
        create(self.kernel, self.source, {"p=0": ["0"], "p=1": ["1"]})
        self.arrived = Counter(["0", "1"])
        self.versions = [self.arrived]

    def _options(self, limit: int) -> Options:
        return Options(limit=limit, changes=True)

    def arrive(self, number: int) -> None:
        """Some partitions get other rows, or none; others keep them."""
        place = next(self._texts)
        rows = rows_of(self.kernel, self.source).get(f"p={place % 3}", [])
        merge(self.kernel, self.source, {f"p={place % 3}": [*rows, f"new {place}"][-number:]})
        self.arrived = Counter(text for texts in rows_of(self.kernel, self.source).values() for text in texts)
        self.versions.append(self.arrived)

    def compact(self, _: int) -> None:
        rewrite(self.kernel, self.source)

    def found(self) -> Counter[str]:
        return replayed(self.kernel, self.output) if self.kernel.exists(self.output) else Counter()

    def check_so_far(self) -> None:
        assert self.found() in [Counter(), *self.versions]


def tell(story: Story, events: list[tuple[str, int]]) -> None:
    for event, number in events:
        story.happen(event, number)
        story.check_so_far()
    story.check()


@pytest.mark.parametrize("kind", [Story, StoryOfChanges])
@given(st.lists(EVENTS, min_size=3, max_size=12))
@settings(max_examples=4, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
def test_each_partition_and_each_change_is_committed_once(
    kind: type[Story], site: Site, events: list[tuple[str, int]]
) -> None:
    tell(kind(site), events)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [Story, StoryOfChanges])
@given(st.lists(EVENTS, min_size=5, max_size=30))
@settings(max_examples=5 * OFTEN, deadline=None, suppress_health_check=list(HealthCheck))
def test_each_partition_and_each_change_is_committed_once_in_long_stories(
    kind: type[Story], site: Site, events: list[tuple[str, int]]
) -> None:
    tell(kind(site), events)
