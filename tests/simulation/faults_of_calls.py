"""Faults in what is done about calls that come late and refusals that last: see :mod:`simulation.known_faults`."""

from __future__ import annotations

from simulation.mutant import Mutant
from simulation.seeds import REFUSING, SERVED, SERVED_GROUPS

OF_CALLS = {
    "late-calls-unnoted": Mutant(
        "nobody is told that a call without an answer may still move partitions",
        "kernel.protocol.roll_forward",
        "        if manifest.txn in self._unsure:  # by now\n"
        "            self._expect_late_calls(table, layout, manifest)\n",
        "",
        first=SERVED,
    ),
    "late-drop-believed": Mutant(
        "a partition that a late call has dropped is taken for dropped by another program",
        "kernel.protocol.repairs",
        "        return self._dropped(state, newest, absent & self._concerned(state, newest, late))\n",
        "        return []\n",
        first=REFUSING,
    ),
    "vacuum-unasked": Mutant(
        "vacuum does not ask where partitions point to, and deletes what readers find there",
        "kernel.maintenance.vacuum",
        "    kernel.roll_forward.put_right(state)\n    found = kernel.external.locations(state.table)\n",
        "    return set()\n    found = kernel.external.locations(state.table)\n",
        first=REFUSING,
    ),
    "lock-given-back": Mutant(
        "a lock is given back although the write under it may still come",
        "kernel.protocol.versions",
        "            until = self._clock.monotonic() + _UNANSWERED_SECONDS\n",
        "            until = 0.0\n",
        first=REFUSING,
    ),
    "opened-blindly": Mutant(
        "a writer that takes a name over does not see what its predecessor commits meanwhile",
        "writer.writer",
        "                transaction.require(partial(self._check_progress, transaction.layout, known))\n",
        "",
        first=SERVED,
    ),
    "staged-for-others": Mutant(
        "what was staged for other partition columns is committed",
        "kernel.commit.transaction",
        "                if not newest.same_shape(self.base):  # and it has other columns, or is in other partitions\n",
        "                if False:\n",
        first=SERVED,
    ),
    "rows-untried": Mutant(
        "what a group sends when it is decided is not tried before",
        "kernel.commit.committer",
        "        require_accepted(self._tables, commit, state, parent, manifest)\n",
        "",
        first=SERVED_GROUPS,
    ),
}
