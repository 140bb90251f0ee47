"""Processes that are forked: a child has copies of what its parent has at that moment, and none of its threads.

A fork is drawn as a fault of any call. The child ends what its parent has open, as an error does that goes up through
its parent's blocks, or tries to commit it, and then does something of its own with its copies. The seeds are those from
:data:`simulation.seeds.FORKING` on.
"""

from __future__ import annotations

import contextlib
import copy
import copyreg
import random
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lakemerge.errors import InvalidTransactionState
from lakemerge.kernel import Kernel, TableName, Transaction
from simulation.intents import Violation
from simulation.operations import Append, Merge, Operation, drawn_change
from simulation.theme import Theme

if TYPE_CHECKING:
    from simulation.plan import Actor
    from simulation.run import Result
    from simulation.scheduler import Process

_FORKS: Mapping[str, int] = {"fork": 4, "die after": 1, "stop": 1, "slow": 1}
# a fork is no failure: nobody is taken for dead
_ALONE = Theme(0, strangers=0.0, faults={"fork": 1}, calls=("",), most=(1, 2, 3), upkeep=1.0, retention=40.0)
_PLAIN = Theme(0, strangers=0.0, streams=0.0, faults=_FORKS, calls=("",), most=(1, 2, 3))
FORKED_THEMES = {
    "forked": _PLAIN,
    "forked beside vacuum": replace(_ALONE, upkeeps=(2, 3), reads_late=True),
    "forked, and parents die": Theme(
        0,
        strangers=0.0,
        faults={"fork": 3, "die after": 3, "lose reply": 1},
        calls=("", "write_text", "alter_table", "alter_partitions", "add_partitions"),
        most=(2, 3, 4),
        upkeep=1.0,
        retention=40.0,
    ),
    # a metastore that does not compare; its locks are the parent's, not the child's
    "forked by locks": Theme(
        0,
        strangers=0.0,
        streams=0.0,
        consumed=0.0,
        faults={"fork": 3, "lose reply": 3, "stop": 1},
        calls=("", "alter_table", "get_table"),
        most=(2, 3, 4),
        compares=0.0,
    ),
}

# in a child they are free: the threads that hold them have not come along
copyreg.pickle(type(threading.Lock()), lambda _: (threading.Lock, ()))


def copied(
    kernel: Kernel, transaction: Transaction | None, fresh: Kernel
) -> tuple[Kernel, Transaction | None]:
    """What a child has of its parent's kernel and open transaction, reaching the world by the ports of a fresh one."""
    names = ("metastore", "files", "row_files", "clock", "host")
    memo = {id(getattr(kernel, name)): getattr(fresh, name) for name in names}
    fresh.metastore.compares = kernel.metastore.compares
    return copy.deepcopy((kernel, transaction), memo)


@dataclass
class Patient(Merge):
    """A merge that takes longer than a lease.

    Attributes:
        pause: seconds between what it stages and its claim.
    """

    pause: float = 0.0

    def attempt(self, kernel: Kernel) -> int | None:
        kernel.step = lambda step: kernel.clock.sleep(self.pause) if step == "staged" else None
        return super().attempt(kernel)


@dataclass
class Parent:
    """A process that can be forked.

    Attributes:
        begin: makes a process of an actor.
        keyed: whether its table has keys.
        doing: what it is at; ``None`` between its operations.
    """

    actor: Actor
    kernel: Kernel
    begin: Callable[[Actor], tuple[Process, Kernel]]
    result: Result
    table: TableName
    keyed: bool
    doing: Operation | None = None
    children: int = 0

    def __post_init__(self) -> None:
        self._dice = random.Random(f"{self.result.seed} {self.actor.name} forks")
        self.kernel.files.caller.fork = self.fork  # type: ignore[attr-defined]

    def fork(self) -> None:
        """Begin a child."""
        self.children += 1
        name = f"{self.actor.name} child {self.children}"
        process, fresh = self.begin(replace(self.actor, name=name, work=(), acts=()))
        open_here = self.doing.transaction if self.doing is not None else None
        kernel, transaction = copied(self.kernel, open_here, fresh)
        own = self._work(name)
        self.result.operations.append(own)
        act = self._dice.choice(("nothing", "abort", "exit", "commit"))
        pause, rest = self._dice.choice((0.0, 0.1, 5.0)), self._dice.choice((0.0, 1.0, 40.0))

        def run() -> None:
            process.go_on(pause)
            if transaction is not None:
                _meddle(transaction, act)
            process.go_on(rest)
            own.run(kernel)

        process.start(run)

    def _work(self, name: str) -> Operation:
        if not self.keyed:
            return Append(self.table, f"{name} {self.children}")
        changes = (drawn_change(self._dice, 5),)
        return Patient(self.table, name, changes=changes, pause=self._dice.choice((0.0, 0.0, 100.0)))


def _meddle(transaction: Transaction, act: str) -> None:
    """What a child does to what its parent has open: nothing of it may have any effect."""
    if act == "abort":
        transaction.abort()
    elif act == "exit":
        transaction.__exit__()
    elif act == "commit":
        with contextlib.suppress(InvalidTransactionState):
            transaction.commit()
            raise Violation("a child has committed what its parent has begun")
