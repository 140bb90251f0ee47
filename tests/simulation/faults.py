"""What goes wrong in a run, by its seed."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass, field

from simulation.themes import Theme

#: Faults that a call may meet, each with how often it is drawn.
KINDS = {
    "die before": 3,
    "die after": 4,
    "lose reply": 4,
    "lose request": 2,
    "refuse": 2,
    "stop": 3,
    "slow": 2,
    "restart": 1,
}


# Calls that decide; a run may have its faults there alone.
_DECISIVE = ("alter_table", "create_table", "drop_table", "alter_partitions", "add_partitions", "write_text")


@dataclass
class Faults:
    """Draws faults for calls until a budget is used up, or has those of a list.

    Attributes:
        left: how many more.
        rate: how likely a call is to meet one.
        focus: the only call that meets any; empty for all.
        kinds: which faults there are, each with how often it is drawn.
        down_until: until then no metastore answers, in simulated seconds.
        lease: seconds; a stop may outlast it.
        drawn: what was drawn, in order, each with the number of its call.
        listed: the only faults, by the number of the call; ``None`` to draw them.
        calls: how many there have been.
        calm: whether nothing goes wrong.
        cut: the call whose answers never arrive; empty for none.
    """

    dice: random.Random
    left: int
    rate: float
    lease: float
    focus: str
    kinds: dict[str, int]
    listed: dict[int, str] | None = None
    down_until: float = 0.0
    drawn: list[tuple[int, str]] = field(default_factory=list)
    calls: int = 0
    calm: bool = False
    cut: str = ""

    @classmethod
    def of(
        cls, dice: random.Random, lease: float, listed: Iterable[tuple[int, str]] | None, theme: Theme
    ) -> Faults:
        focus = dice.choice(("", *_DECISIVE)) if dice.random() < 0.5 else ""
        kinds = dict(KINDS)
        if dice.random() < 0.3:
            kinds = {dice.choice(list(KINDS)): 1}
        if theme.calls:
            focus, kinds = dice.choice(theme.calls), dict(theme.faults)
        rate = dice.choice((0.05, 0.2, 0.5)) if focus else dice.choice((0.005, 0.02, 0.08))
        left = dice.choice(theme.most)
        cut = random.Random(str(dice.random())).choice(theme.cuts) if theme.cuts else ""
        return cls(dice, left, rate, lease, focus, kinds, None if listed is None else dict(listed), cut=cut)

    def draw(self, call: str, *, writes: bool) -> str:
        """A fault for one call; empty for none."""
        if self.calm:
            return ""
        self.calls += 1
        kind = self._drawn(call) if self.listed is None else self.listed.get(self.calls, "")
        if kind in ("lose reply", "lose request", "restart", "late", "die late") and not writes:
            return ""
        if kind:
            self.left -= 1
            self.drawn.append((self.calls, kind))
        return kind

    def _drawn(self, call: str) -> str:
        if not self.left or (self.focus and call != self.focus) or self.dice.random() >= self.rate:
            return ""
        return str(self.dice.choices(list(self.kinds), list(self.kinds.values()))[0])

    def seconds(self, kind: str) -> float:
        """How long a stop, a slow call, a wait for a lost reply or a late effect takes; of a call always the same."""
        dice = random.Random(f"{self.calls} {kind}")
        if kind == "slow":
            return dice.random() * self.lease / 2
        if kind == "lose reply":
            return dice.choice((0.0, 0.0, 1.5)) * self.lease
        if kind == "late":
            return dice.choice((0.01, 0.1, 0.5, 1.5, 4.0)) * self.lease
        return dice.choice((0.5, 1.5, 4.0)) * self.lease
