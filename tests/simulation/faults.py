"""What goes wrong in a run, by its seed."""

from __future__ import annotations

import random
from dataclasses import dataclass

#: Faults that a call may meet, each with how often it is drawn.
KINDS = {
    "die before": 3,
    "die after": 4,
    "lose reply": 4,
    "refuse": 2,
    "stop": 3,
    "slow": 2,
}


@dataclass
class Faults:
    """Draws faults for calls until a budget is used up.

    Attributes:
        left: how many more.
        rate: how likely a call is to meet one.
        lease: seconds; a stop may outlast it.
        drawn: what was drawn, in order.
    """

    dice: random.Random
    left: int
    rate: float
    lease: float
    drawn: list[str]

    @classmethod
    def of(cls, dice: random.Random, lease: float) -> Faults:
        return cls(dice, dice.choice((0, 1, 1, 2, 3, 5)), dice.choice((0.005, 0.02, 0.08)), lease, [])

    def draw(self, *, writes: bool) -> str:
        """A fault for one call; empty for none."""
        if not self.left or self.dice.random() >= self.rate:
            return ""
        kind: str = self.dice.choices(list(KINDS), list(KINDS.values()))[0]
        if kind == "lose reply" and not writes:
            return ""
        self.left -= 1
        return kind

    def seconds(self, kind: str) -> float:
        """How long a stop or a slow call takes."""
        if kind == "slow":
            return self.dice.random() * self.lease / 2
        return self.dice.choice((0.5, 1.5, 4.0)) * self.lease
