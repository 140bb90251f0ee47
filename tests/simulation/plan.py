"""Who does what in a run, by its seed, as data: so that parts of it can be left out."""

from __future__ import annotations

import datetime
import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from lakemerge.kernel import TableDefinition, TableName
from simulation.by_condition import ByCondition, CopyNewest
from simulation.compactions import Compact, Pack
from simulation.consumers import Consume
from simulation.drops import Drop, Remake
from simulation.ingests import Ingest, Land
from simulation.operations import (
    COLUMNS,
    COMMIT_COLUMN,
    COMMIT_KEYS,
    KEYS,
    Append,
    Create,
    Flatten,
    Merge,
    Operation,
    Overwrite,
    Replace,
    Rewrite,
    Upkeep,
    drawn_change,
    partially,
)
from simulation.operators import Undo
from simulation.overlays import FoldDeltas, IntoBase, Lay, MergeOnRead, Retire, SomeIntoBase, TakeOff
from simulation.restores import Restore
from simulation.served_work import Describe, Name, OddAppend, Reject, StageFirst
from simulation.streams import Batches
from simulation.themes import THEMES, Theme, theme_of

TABLE = TableName("s", "t")

DEFINITIONS = {
    "partitioned": TableDefinition(TABLE, COLUMNS, KEYS),
    "whole": TableDefinition(TABLE, COLUMNS, ()),
    "append": TableDefinition(TABLE, COLUMNS, COMMIT_KEYS, commit_column=COMMIT_COLUMN),
}


@dataclass(frozen=True)
class Cut:
    """What is left out of a seed's run, to find what is needed for its failure.

    Attributes:
        without: names of processes and labels of operations.
        faults: the only faults that happen, by the number of the call; ``None`` for those that the seed draws.
        reseed: another order of the same processes.
    """

    without: frozenset[str] = frozenset()
    faults: tuple[tuple[int, str], ...] | None = None
    reseed: int = 0


@dataclass(frozen=True)
class Actor:
    """A process to be.

    Attributes:
        machine: a name, or empty for one of its own.
        skew: days that its clock is ahead.
        delay: seconds until it begins.
        acts: what a stranger does, with labels.
    """

    name: str
    machine: str = "one"
    skew: int = 0
    delay: float = 0.0
    work: tuple[Operation, ...] = ()
    acts: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Plan:
    """A run to be.

    Attributes:
        theme: what it is mostly about, one of :data:`THEMES`.
        kind: of table.
        tears: whether the metastore shows changes half.
        batches: whether it answers in batches.
        compares: whether it compares.
        adopts: whether the table is made by another program first.
    """

    theme: str
    kind: str
    tears: bool
    batches: bool
    compares: bool
    adopts: bool
    actors: tuple[Actor, ...] = field(default=())

    @property
    def rules(self) -> Theme:
        """What its theme says."""
        return THEMES[self.theme]

    @property
    def retention(self) -> datetime.timedelta:
        """How long vacuum leaves what nobody refers to."""
        return datetime.timedelta(seconds=self.rules.retention)

    @property
    def strange(self) -> bool:
        """Whether programs that are not ours take part."""
        return any(actor.acts for actor in self.actors)

    def without(self, names: frozenset[str]) -> Plan:
        """The same with some processes and operations left out."""
        actors = [
            replace(
                actor,
                work=tuple(one for one in actor.work if one.label not in names),
                acts=tuple(one for one in actor.acts if one[1] not in names),
            )
            for actor in self.actors
            if actor.name not in names
        ]
        return replace(self, actors=tuple(actors))

    def parts(self) -> Iterator[str]:
        """What can be left out, the larger parts first."""
        yield from (actor.name for actor in self.actors)
        for actor in self.actors:
            if len(actor.work) + len(actor.acts) > 1:
                yield from (one.label for one in actor.work)
                yield from (label for _, label in actor.acts)


_PLAIN: dict[str, type[Operation]] = {
    "append": Append,
    "compact": Compact,
    "drop": Drop,
    "flatten": Flatten,
    "fold": FoldDeltas,
    "into base": IntoBase,
    "lay": Lay,
    "retire": Retire,
    "take off": TakeOff,
    "pack": Pack,
    "replace": Replace,
    "rewrite": Rewrite,
    "some into base": SomeIntoBase,
    "describe": Describe,
    "odd append": OddAppend,
}


class Planner:
    """Draws a plan."""

    def __init__(self, seed: int) -> None:
        self._dice = random.Random(f"{seed} plan")
        self._name = theme_of(seed)
        self._theme = THEMES[self._name]
        self._kind = self._dice.choice(self._theme.kinds)
        can_be = self._kind == "append" or self._theme.changes
        self._consumed = can_be and self._has(self._theme.consumed)

    def _has(self, likely: float) -> bool:
        return self._dice.random() < likely

    def plan(self) -> Plan:
        dice, theme = self._dice, self._theme
        tears, batches = self._has(theme.tears), self._has(theme.batches)
        compares = dice.random() < theme.compares
        adopts = self._kind != "append" and dice.random() < theme.adopts
        actors = list(self._writers())
        if self._has(theme.upkeep):
            work = [self._upkeep(f"upkeep {one}") for one in range(dice.choice(theme.upkeeps))]
            actors.append(replace(self._actor("upkeep", work), delay=self._delay_of_upkeep()))
        if self._consumed:
            actors += [self._consumer(number) for number in range(dice.choice((1, 2)))]
        if not self._consumed and self._has(theme.strangers):
            actors.append(self._stranger())
        if theme.lands:
            files: list[Operation] = [Land(TABLE, f"file {one}") for one in range(dice.choice((3, 5, 8)))]
            actors.append(self._actor("lander", files))
        readers = [self._actor(f"reader {number}", []) for number in range(dice.choice(theme.readers))]
        if theme.reads_late:
            readers = [replace(one, delay=self._delay_of_upkeep()) for one in readers]
        actors += readers
        if theme.operators:
            waits = [dice.choice((5.0, 40.0, 100.0)) for _ in range(dice.choice((1, 2, 3)))]
            work = [Undo(TABLE, f"undo {number}", seconds=seconds) for number, seconds in enumerate(waits)]
            actors.append(self._actor("operator", list(work)))
        return Plan(self._name, self._kind, tears, batches, compares, adopts, tuple(actors))

    def _delay_of_upkeep(self) -> float:
        """At once, or when what sleeping writers have staged counts as old."""
        return self._dice.choice((0.0, 3.0, self._theme.retention + 10.0))

    def _actor(self, name: str, work: list[Operation], acts: tuple[tuple[str, str], ...] = ()) -> Actor:
        return Actor(
            name,
            self._dice.choice(("one", "one", "")),
            self._dice.choice((0, 0, 0, -9, 9)),
            self._dice.choice((0.0, 0.0, 0.1, 3.0)),
            tuple(work),
            acts,
        )

    def _writers(self) -> Iterator[Actor]:
        dice = self._dice
        if self._kind == "append" and not self._consumed and self._has(self._theme.streams):
            for number, writer in enumerate(self._theme.names):
                again = f" again {number}" if writer in self._theme.names[:number] else ""
                count = self._theme.batches_each
                work = Batches(TABLE, f"{writer}{again}", writer=writer, count=count)
                yield self._actor(f"stream {writer}{again}", [work])
        for number in range(dice.choice(self._theme.writers)):
            count = dice.choice(self._theme.several)
            yield self._actor(f"writer {number}", [self._work(f"{number}.{one}") for one in range(count)])

    def _consumer(self, number: int) -> Actor:
        dice = self._dice
        limits = tuple(dice.choice((None, 1, 2)) for _ in range(dice.choice((1, 2, 4))))
        failing = dice.choice((0.0, 0.0, 0.5))
        work = Consume(
            TABLE,
            f"consumer {number}",
            limits=limits,
            failing=failing,
            changes=self._theme.changes,
            dice=random.Random(dice.getrandbits(64)),
        )
        return self._actor(f"consumer {number}", [work])

    def _stranger(self) -> Actor:
        dice = self._dice
        actions = ["insert"] * 6 + (["drop", "add", "move"] if self._kind == "partitioned" else [])
        actions += ["overwrite"] * 2 if self._kind != "append" else []
        if dice.random() < 0.6:
            actions = ["insert"]
        actions = list(self._theme.acts) or actions
        acts = tuple((dice.choice(actions), f"s{one}") for one in range(dice.choice((1, 2, 3))))
        return self._actor("stranger", [], acts)

    def _work(self, label: str) -> Operation:
        chances = self._theme.work_of(self._kind)
        work = self._dice.choices(list(chances), list(chances.values()))[0]
        if work == "overwrite":
            return Overwrite(TABLE, label, number=self._dice.randrange(3))
        if work in ("stage first", "name", "reject", "restore"):
            return self._served_work(work, label)
        if work == "recover":
            return Upkeep(TABLE, label, action="recover")
        if work == "remake":
            return Remake(TABLE, label, definition=DEFINITIONS[self._kind])
        if work in ("ingest", "anew"):
            return Ingest(TABLE, label, most=self._dice.choice((0, 1, 2)), anew=work == "anew")
        if work in ("by condition", "copy"):
            return self._conditional_work(work, label)
        if not work.endswith("merge"):
            return _PLAIN[work](TABLE, label)
        changes = tuple(
            drawn_change(self._dice, self._theme.keys) for _ in range(self._dice.choice((1, 1, 2, 4)))
        )
        truncate = self._dice.randrange(1, 30) if self._dice.random() < 0.1 else -1
        if "partial" in work:
            changes = tuple(map(partially, changes))
        if work.startswith("overlaid"):
            return MergeOnRead(TABLE, label, changes=changes)
        return Merge(TABLE, label, changes=changes, truncate=truncate)

    def _conditional_work(self, work: str, label: str) -> Operation:
        dice = self._dice
        if work == "copy":
            return CopyNewest(TABLE, label, number=dice.randrange(9))
        rest, number = dice.randrange(3), dice.choice((None, None, 0, 1, 2))
        return ByCondition(TABLE, label, rest=rest, number=number, deletes=dice.random() < 0.7)

    def _served_work(self, work: str, label: str) -> Operation:
        if work == "stage first":
            return StageFirst(TABLE, label, number=self._dice.randrange(3))
        if work == "restore":
            return Restore(TABLE, label, back=self._dice.choice((1, 1, 2, 4)))
        if work == "name":
            return Name(TABLE, label, seconds=self._dice.choice((0.0, 100.0, 100.0)))
        return Reject(TABLE, label, clears=self._dice.random() < 0.3)

    def _upkeep(self, label: str) -> Operation:
        action = self._dice.choice(("vacuum", "vacuum", "recover"))
        retention = datetime.timedelta(seconds=self._theme.retention)
        return Upkeep(TABLE, label, action=action, retention=retention)


def first_commit(kind: str) -> Create:
    """The table, with a row."""
    return Create(TABLE, "first", definition=DEFINITIONS[kind])
