"""Faults in what is done about locks, refusals, undone versions and late calls: see :mod:`simulation.known_faults`."""

from __future__ import annotations

from simulation.mutant import Mutant
from simulation.seeds import BESIDE, REFUSING, SERVED, SERVED_GROUPS

OF_REFUSALS = {
    "mark-as-claim": Mutant(
        "by locks, a group is decided although the call that has marked a table may still come",
        "kernel.protocol.versions",
        '    claim = row.parameters.get(VERSION, "").partition(":")[2]\n',
        '    claim = row.parameters.get(VERSION, "").partition(":")[2].removesuffix(UNDECIDED)\n',
        first=BESIDE,
    ),
    "other-at-once": Mutant(
        "by locks, a process writes another transaction's version of the same number although the first may still come",
        "kernel.protocol.versions",
        "        return cls(whose, row",
        '        whose = "?" if claim.endswith(UNDECIDED) else ""\n        return cls(whose, row',
        first=REFUSING,
    ),
    "renamed-at-once": Mutant(
        "by locks, a row is renamed although a write under its old name may still come",
        "kernel.protocol.versions",
        'cls(whose, row.name.name if row.name != name else "")',
        'cls(whose, "")',
        first=REFUSING,
    ),
    "next-at-once": Mutant(
        "by locks, a process writes its next version although the write of the last one may still come",
        "kernel.protocol.versions",
        "is not None and not write.may_follow(kept.write):\n",
        "is not None and False:\n",
        first=REFUSING,
    ),
    "new-rows-unfound": Mutant(
        "recovery does not look for new rows that calls have made when their exchange was over",
        "kernel.kernel",
        "        rebuilds.clear_late_rows(state.name)\n",
        "",
        first=SERVED_GROUPS,
    ),
    "ghost-stays": Mutant(
        "a row that comes when its files are deleted stays, and blocks the name",
        "kernel.tables",
        "        gone = self.removals.remove(name, row)\n",
        "        gone = False\n",
        first=REFUSING,
    ),
    "undone-as-before": Mutant(
        "a version that restores the one before is rolled forward as if the claim that it ends had done nothing",
        "kernel.protocol.roll_forward",
        "        if manifest.operation == RELEASE:\n            return read_manifest",
        "        if False:\n            return read_manifest",
        first=REFUSING,
    ),
    "undone-unlaid": Mutant(
        "the undoing of a claim that was to make a view takes the table for its base, which it may not be yet",
        "kernel.protocol.overlays",
        "        if self._has_claim(name, manifest):\n",
        "        if False:\n",
        first=REFUSING,
    ),
    "undone-untouched": Mutant(
        "a version that restores the one before touches nothing that the claim has touched",
        "kernel.protocol.releases",
        "        touched = frozenset() if makes_row_anew(before, claimed) else claimed.touched\n",
        "        touched = frozenset()\n",
        first=REFUSING,
    ),
    "undone-unnoticed": Mutant(
        "a writer whose claim an operator has undone counts its commit as settled",
        "kernel.commit.committer",
        "        if not settled and self._is_undone(table, manifest):\n",
        "        if False:\n",
        first=REFUSING,
    ),
    "looks-no-more": Mutant(
        "a swap whose answers are cut off is sent again and again, whether it has been done or not",
        "kernel.protocol.swaps",
        "            if partition in locations and normal(row.location) != normal(locations[partition]):\n",
        "            if partition in locations:\n",
        first=REFUSING,
    ),
    "commits-mend-nothing": Mutant(
        "a commit does not look at what calls without an answer may have done",
        "kernel.commit.committer",
        "            self._tables.roll_forward.put_right(state)\n",
        "",
        first=SERVED,
    ),
    "repair-unnoted": Mutant(
        "a repair does not say that its own calls may come late",
        "kernel.protocol.repairs",
        "        self.expect(name, state.table_id, late or [Late(state.layout, manifest, everywhere=True)])\n",
        "",
        first=REFUSING,
    ),
    "rescue-unnoted": Mutant(
        "who finishes another's commit does not say that calls of that one may still come",
        "kernel.protocol.roll_forward",
        "        if table is not None and (for_another or manifest.txn in self._unsure):\n",
        "        if table is not None and manifest.txn in self._unsure:\n",
        first=SERVED,
    ),
    "creation-lost": Mutant(
        "a creation without an answer counts as one that another was faster at",
        "kernel.commit.new_rows",
        "        raise lost[-1] if lost else table.is_made_by_another()\n",
        "        raise table.is_made_by_another()\n",
        first=REFUSING,
    ),
    "folded-again": Mutant(
        "a writer that leaves the folding of progress to another asks for it once more",
        "writer.writer",
        "            transaction.forget_side_data(KIND)\n",
        "",
        first=SERVED,
    ),
}
