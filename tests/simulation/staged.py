"""What is published after tests: complete transactions that wait, are looked at, and are published together, or left.

Their seeds are those from :data:`simulation.seeds.STAGED` on.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from lakemerge.kernel import Kernel, Transaction, discard_left, leave, resume, suspend
from simulation.histories import Observed
from simulation.themes import Theme
from simulation.transfers import LIST_KEYS, Transfer, lists_in

_PLAIN = Theme(3, strangers=0.0, upkeep=0.5, several=(1, 2, 3), most=(0, 1, 2))
STAGED_THEMES = {
    "staged": _PLAIN,
    # what waits is silent for longer than its lease, and is taken for dead, or its process dies
    "staged and silent": replace(
        _PLAIN,
        upkeep=1.0,
        retention=40.0,
        faults={"stop": 4, "die before": 2, "die after": 2},
        calls=("write_text", "alter_table", "list", "get_table"),
        most=(1, 2, 3),
    ),
    # calls of the publication whose outcome nobody was told
    "staged and unanswered": replace(
        _PLAIN,
        faults={"lose reply": 3, "refuse": 1, "slow": 1, "die after": 1},
        calls=("alter_table", "alter_table", "create_table", "alter_partitions", "write_text"),
        most=(1, 2, 3, 4),
    ),
}
#: Seconds that a build waits: less than its lease, and more.
PAUSES = (0.0, 1.0, 10.0, 40.0, 100.0)


@dataclass
class Build(Transfer):
    """Stages appends to lists of several tables, looks at all their lists, and publishes them together or leaves them.

    Attributes:
        pause: seconds between the two.
        fails: whether it is left.
    """

    pause: float = 0.0
    fails: bool = False

    def _is_staged(self, kernel: Kernel, transaction: Transaction, seen: Observed) -> None:
        """Suspend a transaction, and read all lists that its version has, as tests and later models do."""
        discard_left(kernel, transaction.layout)
        manifest = suspend(transaction)
        lists = lists_in(kernel.files, transaction.layout, manifest)
        for key in LIST_KEYS:
            own = seen.appends.get((manifest.table_id, key), ())
            shown = lists.get(key, ())
            # one whose process was silent may have lost what it has staged; then it must not be published
            if shown[len(shown) - len(own) :] == own:
                seen.reads[manifest.table_id, key] = shown[: len(shown) - len(own)]

    def _commit(self, kernel: Kernel, opened: list[Transaction], seen: Observed) -> None:
        kernel.clock.sleep(self.pause)
        if self.fails:
            seen.outcome = "aborted"
            return
        for one in opened:
            resume(one)
        super()._commit(kernel, opened, seen)

    def _end(self, transaction: Transaction) -> None:
        leave(transaction, "it is not published")
