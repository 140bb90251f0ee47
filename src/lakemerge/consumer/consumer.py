"""A consumer: takes partitions, or versions, that are not processed yet, and records how they end."""

from __future__ import annotations

import datetime
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Literal

from lakemerge.consumer.batch import Batch, Left
from lakemerge.consumer.choice import Candidate, Spent, choose, choose_in_order, choose_suspects
from lakemerge.consumer.items import Item, Position, SourceSnapshot
from lakemerge.consumer.progress import Done, Key, Progress, read_progress, write_progress
from lakemerge.consumer.sources import position_at, source_snapshot, version_snapshot
from lakemerge.consumer.working_set import (
    AVAILABLE,
    DISCARDED,
    IN_PROGRESS,
    PROCESSED,
    Contents,
    Row,
    Rows,
    WorkingSet,
    started_key,
)
from lakemerge.errors import ConsumerExpired, SourceRewritten
from lakemerge.kernel import (
    Kernel,
    Pin,
    TableName,
    from_milliseconds,
    new_transaction_id,
    remove_pin,
    set_pin,
    timestamp,
)

Policy = Literal["reprocess", "append_only", "ignore"]
# This many processed partitions stay visible.
_SHOWN = 1000
_NOTHING = Spent()


@dataclass(frozen=True)
class Options:
    """How a consumer takes partitions.

    Attributes:
        limit: at most this many partitions in a run; ``None`` for all.
        max_bytes: at most this many bytes in a run, but always one partition.
        timeout: a run that takes longer counts as failed, and is fenced.
        max_retries: how often a partition may fail after its first failure before it is discarded.
        on_rewrite: what to do with a partition that was changed after it was processed.
        pin: how long after its last run a consumer keeps versions of its source from vacuum.
        where: the predicate behind ``wanted``, kept for later looks at the consumer.
        changes: whether it follows the changes of its source, version by version, and not its partitions. These are
            taken in order, and none is ever discarded: what comes after one builds on it.
        from_version: where it begins: after this version of its source; ``None`` to begin with all that there is.
    """

    limit: int | None = None
    max_bytes: int | None = None
    timeout: datetime.timedelta = datetime.timedelta(hours=12)
    max_retries: int = 3
    on_rewrite: Policy = "reprocess"
    pin: datetime.timedelta = datetime.timedelta(days=7)
    where: str = ""
    changes: bool = False
    from_version: int | None = None


#: Chooses the items that a run may see, by predicates over the partition columns.
Filter = Callable[[SourceSnapshot, Sequence[Item]], Sequence[Item]]


def _all(_: SourceSnapshot, items: Sequence[Item]) -> Sequence[Item]:
    return items


class Consumer:
    """One consumer: a source, a name and an output."""

    def __init__(
        self,
        kernel: Kernel,
        source: TableName,
        name: str,
        output: TableName,
        options: Options | None = None,
        *,
        wanted: Filter = _all,
        ready: Filter = _all,
    ) -> None:
        """
        Args:
            wanted: the items that belong to the consumer; it skips the others for good.
            ready: the wanted items that it may take now; the others wait.
        """
        self.key: Key = (str(source), name)
        self.kernel = kernel
        self.source = source
        self.output = output
        self.options = options or Options()
        self.working_set = WorkingSet(kernel, output)
        self._wanted = wanted
        self._ready = ready
        self._alive: dict[str, bool] = {}

    @property
    def max_retries(self) -> int:
        """How often a partition may fail after its first failure before it is discarded."""
        # what comes after a version builds on it
        return sys.maxsize if self.options.changes else self.options.max_retries

    # -- reading -------------------------------------------------------------------------------

    def progress(self) -> Progress | None:
        """This consumer's progress by the output's commits; ``None`` if there is none."""
        if not self.kernel.exists(self.output) or self.kernel.current_state(self.output) is None:
            return None
        state, manifest = self.kernel.settled(self.output)
        return read_progress(self.kernel, state.layout, manifest).get(self.key)

    def _begin(self, contents: Contents, rebuild: bool) -> tuple[Progress, SourceSnapshot]:
        """The progress to continue from, and what the source has received since."""
        known = None if rebuild else self.progress()
        if known is None and not rebuild and started_key(self.key) in contents.started:
            saved = Progress.from_json(contents.started[started_key(self.key)])
            # another first run may be at work, and must count from the same beginning
            if any(self.holds(row) for row in contents.rows.get(self.key, {}).values()):
                known = saved
        if known is not None:
            self._require_kind(known)
            return known, self._snapshot(known.position, known.source_id)
        return self._anew(self.options.from_version)

    def _anew(self, version: int | None) -> tuple[Progress, SourceSnapshot]:
        """The progress of a consumer that begins after a version, or with everything there is, and what follows."""
        begin = None if version is None else position_at(self.kernel, self.source, version)
        snapshot = self._snapshot(begin, None)
        start = snapshot.positions[0] if snapshot.positions else None
        changes = self.options.changes
        return Progress(self.kernel.host.token(), snapshot.source_id, start, changes=changes), snapshot

    def _snapshot(self, position: Position | None, source_id: str | None) -> SourceSnapshot:
        find = version_snapshot if self.options.changes else source_snapshot
        return find(self.kernel, self.source, position, source_id)

    def _require_kind(self, known: Progress) -> None:
        if known.changes != self.options.changes:
            source, name = self.key
            wanted, found = ("changes", "partitions") if self.options.changes else ("partitions", "changes")
            raise ConsumerExpired(
                expected=f"{name} to have followed {wanted} of {source} so far",
                found=f"progress in {found}",
                action="Run the model with --full-refresh (in Python: rebuild=True); or give the consumer another "
                "name, by which it begins anew.",
            )

    def holds(self, row: Row) -> bool:
        """Whether a run has this partition in progress and may go on."""
        young = row.state == IN_PROGRESS and row.age(self.kernel.clock.now()) <= self.options.timeout
        return young and self._lives(row)

    def now(self) -> str:
        """This moment as rows keep it, ISO 8601 in UTC."""
        return timestamp(self.kernel.clock)

    def _lives(self, row: Row) -> bool:
        if row.run not in self._alive:
            lease = self.kernel.settings.lease_seconds
            alive = self.kernel.heartbeats.alive(self.working_set.layout, row.run, lease)
            self._alive[row.run] = alive
        return self._alive[row.run]

    # -- taking --------------------------------------------------------------------------------

    def claim(self, *, rebuild: bool = False, suspects: bool | None = None, spent: Spent = _NOTHING) -> Batch:
        """Take partitions for a commit. End with :meth:`Batch.succeed` or :meth:`Batch.fail`.

        Args:
            rebuild: the output is rebuilt: take everything, however much it is.
            suspects: ``True`` takes only suspects, with which runs have failed or died; ``False`` only the others;
                ``None`` the others or, where there are none, suspects.
            spent: the suspects that this run has taken so far.

        Raises:
            ConsumerExpired, SourceRewritten, TableNotFound, UnsupportedTable: nothing was taken.
        """
        run = new_transaction_id(self.kernel.clock, self.kernel.host)
        layout = self.working_set.layout
        taken: list[Batch] = []

        def choose_of(candidates: Sequence[Candidate]) -> list[Item]:
            if rebuild:
                return [one.item for one in candidates]
            return self._choose(candidates, suspects, spent)

        def change(contents: Contents) -> Contents:
            taken.clear()
            self._alive.clear()
            progress, snapshot = self._begin(contents, rebuild)
            known = contents.rows.get(self.key, {})
            if rebuild:  # earlier ones no longer count as processed, and runs that have them are fenced
                known = {name: row for name, row in known.items() if row.state == DISCARDED}
            batch, rows = self._take(known, progress, snapshot, run, choose_of)
            taken.append(replace(batch, rebuild=rebuild, spent=self._spent(batch, rows, spent)))
            after = contents.with_rows(self.key, rows)
            return self._with_started(after, progress) if batch.items else after

        self.kernel.heartbeats.start(layout, run)
        try:
            self.working_set.update(change)
            # another run may be about to commit an older version than this one begins with
            self.pin(taken[0].progress, unless_older=True)
        except BaseException:
            self.kernel.heartbeats.stop(layout, run)
            raise
        if not taken[0].items:
            self.kernel.heartbeats.stop(layout, run)
        return taken[0]

    def _with_started(self, contents: Contents, progress: Progress) -> Contents:
        names = ("where", "on_rewrite", "from_version")
        options = {name: getattr(self.options, name) for name in names}
        started = {**contents.started, started_key(self.key): {**progress.to_json(self.key), **options}}
        return replace(contents, started=started)

    def preview(self) -> Batch:
        """What a run would take now; nothing is taken, and the batch cannot be committed."""
        self._alive.clear()
        contents = self.working_set.read()
        progress, snapshot = self._begin(contents, False)
        known = contents.rows.get(self.key, {})
        return self._take(known, progress, snapshot, "", lambda found: self._choose(found, None, _NOTHING))[0]

    def _choose(self, candidates: Sequence[Candidate], suspects: bool | None, spent: Spent) -> list[Item]:
        limit, max_bytes = self.options.limit, self.options.max_bytes
        if self.options.changes:
            return choose_in_order(candidates, limit, max_bytes, spent, suspects=suspects)
        chosen = [] if suspects else choose(candidates, limit, max_bytes)
        if chosen or suspects is False:
            return chosen
        return choose_suspects(candidates, limit, max_bytes, spent)

    def _spent(self, batch: Batch, rows: Rows, before: Spent) -> Spent:
        in_order = self.options.changes
        return before.and_then([one for one in batch.items if in_order or rows[one.partition].suspicion])

    def _take(
        self,
        known: Rows,
        progress: Progress,
        snapshot: SourceSnapshot,
        run: str,
        choose_of: Callable[[Sequence[Candidate]], list[Item]],
    ) -> tuple[Batch, Rows]:
        wanted = self._wanted(snapshot, snapshot.items)
        rows, pending = self._rows(known, progress, snapshot, wanted)
        available = [item for item in pending if rows[item.partition].state == AVAILABLE]
        ready = set(self._ready(snapshot, available))
        candidates = [
            Candidate(item, rows[item.partition].suspicion, rows[item.partition].batch_size)
            for item in available
            if item in ready
        ]
        chosen = choose_of(self._in_turn(candidates, pending))
        left = _left(rows, candidates, len(available), chosen, in_order=self.options.changes)
        for item in chosen:
            rows[item.partition] = replace(
                rows[item.partition],
                state=IN_PROGRESS,
                run=run,
                batch_size=len(chosen),
                changed_at=self.now(),
            )
        done = {item.partition: self._done(item, progress) for item in chosen}
        open_rows = {name for name, row in rows.items() if row.state != PROCESSED and name not in done}
        not_done = [item for item in wanted if item.partition in open_rows]
        after = replace(progress, position=snapshot.position_before(not_done), done=done)
        return Batch(self, run, tuple(chosen), snapshot, progress, after, left=left), rows

    def _in_turn(self, candidates: Sequence[Candidate], pending: Sequence[Item]) -> Sequence[Candidate]:
        """The candidates that may be taken now: of versions none after one that another run has."""
        if not self.options.changes:
            return candidates
        return [
            one
            for one, item in takewhile(
                lambda pair: pair[0].item == pair[1], zip(candidates, pending, strict=False)
            )
        ]

    def _rows(
        self, known: Rows, progress: Progress, snapshot: SourceSnapshot, wanted: Sequence[Item]
    ) -> tuple[dict[str, Row], list[Item]]:
        """The working set's rows as they are now, and the items that are not processed."""
        rows = self._processed_rows(known, progress, wanted)
        pending = self._not_processed(progress, snapshot, wanted)
        for item in pending:
            row = self._row_of(item, known.get(item.partition))
            rows[item.partition] = self._given_back(row)
        return rows, pending

    def _given_back(self, row: Row) -> Row:
        """The row as it is, or freed if the run that has it has died or timed out."""
        if row.state != IN_PROGRESS or self.holds(row):
            return row
        if not self._lives(row):  # even if that is long ago
            return row.died(f"run {row.run} died", self.max_retries, self.now())
        return row.failed(
            f"run {row.run} took longer than the timeout of {self.options.timeout}",
            self.max_retries,
            self.now(),
        )

    def _not_processed(
        self, progress: Progress, snapshot: SourceSnapshot, items: Sequence[Item]
    ) -> list[Item]:
        """The items that are not processed, by the policy for changed ones."""
        found = []
        for item in items:
            if progress.has_done(item):
                continue
            known = progress.done.get(item.partition)
            new = known is None and not item.rewrites
            if new or self.options.on_rewrite == "reprocess":
                found.append(item)
            elif self.options.on_rewrite == "append_only":
                found.append(self._added(item, known))
        return found

    def _added(self, item: Item, known: Done | None) -> Item:
        """What was added to a partition since it was processed."""
        before = set(known.files) if known else set()
        if not before or not before <= set(item.files):
            raise SourceRewritten(
                expected=f"{item.partition or 'the files'} of {self.source} unchanged, apart from new files",
                found="that files were changed or removed"
                if before
                else f"that version {item.version} rewrote it",
                action="Set on_rewrite: reprocess (or ignore), or restore the source.",
            )
        return replace(item, files=tuple(file for file in item.files if file not in before))

    def _done(self, item: Item, progress: Progress) -> Done:
        """What to remember of a processed item: its files only where new ones must be told apart."""
        if self.options.on_rewrite != "append_only":
            return Done(item.mark, item.version)
        known = progress.done.get(item.partition)
        return Done(item.mark, item.version, (*(known.files if known else ()), *item.files))

    def _processed_rows(self, known: Rows, progress: Progress, items: Sequence[Item]) -> dict[str, Row]:
        rows = [row for row in known.values() if row.state == PROCESSED]
        shown = {row.partition: row for row in rows[-_SHOWN:]}
        for item in items:
            if progress.has_done(item):
                before = known.get(item.partition)
                row = before or self._row_of(item, None)
                done = row.state == PROCESSED and row.content == item.mark
                shown[item.partition] = (
                    row if done else replace(row, state=PROCESSED, changed_at=self.now(), reason="")
                )
        return shown

    def _row_of(self, item: Item, known: Row | None) -> Row:
        """The row of an item that is not processed; a new one if its content differs."""
        if known and known.content == item.mark and known.state != PROCESSED:
            return known
        if known and known.state == IN_PROGRESS and self.holds(known):
            return known  # it waits until the run that reads the previous content ends
        source, consumer = self.key
        return Row(
            source,
            consumer,
            item.partition,
            item.version,
            item.mark,
            item.bytes,
            AVAILABLE,
            changed_at=self.now(),
        )

    # -- operations ----------------------------------------------------------------------------

    def refresh(self) -> list[Row]:
        """Update the working set and return its rows."""

        def change(contents: Contents) -> Contents:
            if self.progress() is None and started_key(self.key) not in contents.started:
                return contents
            self._alive.clear()
            progress, snapshot = self._begin(contents, False)
            known = contents.rows.get(self.key, {})
            rows, _ = self._rows(known, progress, snapshot, self._wanted(snapshot, snapshot.items))
            return contents.with_rows(self.key, rows)

        return list(self.working_set.update(change).rows.get(self.key, {}).values())

    def put_back(self, partitions: Sequence[str] | None = None) -> list[str]:
        """Make discarded partitions (``None``: all of them) available again; returns their names."""
        names: list[str] = []

        def change(contents: Contents) -> Contents:
            rows = dict(contents.rows.get(self.key, {}))
            names[:] = [
                name
                for name, row in rows.items()
                if row.state == DISCARDED and (partitions is None or name in partitions)
            ]
            for name in names:
                rows[name] = replace(
                    rows[name], state=AVAILABLE, failures=0, deaths=0, batch_size=0, changed_at=self.now()
                )
            return contents.with_rows(self.key, rows)

        self.working_set.update(change)
        return names

    def reset(self, version: int | None = None) -> Progress:
        """Start over: after a version of the source, or (``None``) with everything that it holds.

        Running runs are fenced. Rows already in the output stay there.

        Raises:
            ConsumerExpired: the source has no such version any more.
        """
        progress, _ = self._anew(version)
        self._commit({self.key: progress}, "reset consumer")
        self.working_set.update(
            lambda contents: self._with_started(contents.with_rows(self.key, {}), progress)
        )
        self.pin(progress)
        return progress

    def drop(self) -> None:
        """Forget the consumer: its progress, its rows in the working set, and its pin."""
        self._commit({}, "drop consumer")
        contents = self.working_set.update(lambda contents: contents.without(self.key))
        if not contents.rows:
            self.working_set.drop()
        state = self.kernel.current_state(self.source) if self.kernel.exists(self.source) else None
        if state is not None:
            remove_pin(self.kernel.files, state.layout, self._pin_name)

    def _commit(self, changes: Mapping[Key, Progress], operation: str) -> None:
        """A commit to the output that changes nothing but progress."""
        with self.kernel.begin(self.output, operation) as transaction:
            write_progress(self.kernel, transaction, changes, forget=() if changes else (self.key,))
            transaction.commit()

    @property
    def _pin_name(self) -> str:
        return f"{self.key[1]} of {self.output}"

    def pin(self, progress: Progress, *, unless_older: bool = False) -> None:
        """Protect the source's versions since this progress from vacuum for a time.

        Args:
            unless_older: protect those that the consumer's pin protects now, if they are more.
        """
        if progress.position is None:
            return
        state = self.kernel.current_state(self.source)
        if state is not None:
            # by the file system's clock: whoever checks the expiry may have another clock than this process
            now = from_milliseconds(self.kernel.files.now(state.layout.pins))
            expiry = now + self.options.pin
            pin = Pin(self._pin_name, progress.position.version, expiry.isoformat(timespec="seconds"))
            set_pin(self.kernel.files, state.layout, pin, unless_older=unless_older)


def _left(
    rows: Rows, candidates: Sequence[Candidate], available: int, chosen: Sequence[Item], *, in_order: bool
) -> Left:
    taken = {item.partition for item in chosen}
    rest = [one for one in candidates if one.item.partition not in taken]
    states = Counter(row.state for row in rows.values())
    # behind a suspect, all come in turns of their own
    apart = in_order and any(one.suspicion for one in candidates)
    suspects = sum(1 for one in rest if apart or one.suspicion)
    return Left(
        waiting=len(rest) - suspects,
        suspects=suspects,
        not_ready=available - len(candidates),
        in_progress=states[IN_PROGRESS],
        discarded=states[DISCARDED],
    )
