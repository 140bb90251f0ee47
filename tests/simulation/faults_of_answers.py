"""Faults in what is done when a metastore is late, or does not answer: see :mod:`simulation.known_faults`."""

from __future__ import annotations

from simulation.mutant import Mutant
from simulation.seeds import NARROW, SERVED

OF_ANSWERS = {
    "removed-blindly": Mutant(
        "a row is renamed to be dropped without a comparison, so that the next table of the name goes",
        "kernel.protocol.removals",
        "            gone = self._versions.change_if(row.name, key, row, out)\n",
        "            self._metastore.alter_table(row.name, out)\n            gone = True\n",
        first=SERVED,
    ),
    "refused-look": Mutant(
        "a look that is refused after a claim without an answer counts as a claim that was refused",
        "kernel.protocol.versions",
        "        if if_refused:\n",
        "        if False:\n",
        first=NARROW,
    ),
}
