"""Faults of tables that are merged on read."""

from __future__ import annotations

from simulation.mutant import Mutant
from simulation.seeds import OVERLAID, PARTIAL, RARE

ON_READ = {
    "base-without-files": Mutant(
        "a view is made while its base points to the empty directory in which it was renamed",
        "kernel.protocol.overlays",
        "lambda row: moved(row, _location(layout, manifest)),\n",
        "lambda row: row,\n",
        first=OVERLAID,
    ),
    "later-deltas-lost": Mutant(
        "what folds deltas takes those away that have come meanwhile",
        "kernel.commit.draft",
        '"fold": (*paths, *later),',
        '"fold": tuple(paths),',
        first=OVERLAID,
    ),
    "moved-as-replaced": Mutant(
        "what a delta tells later commits is lost when an unpartitioned base takes others in meanwhile",
        "kernel.commit.table_commit",
        "WHOLE_TABLE in draft.written - draft.rewritten\n",
        "WHOLE_TABLE in draft.written\n",
        first=OVERLAID,
    ),
    "left-forgotten": Mutant(
        "a compaction of some partitions takes away the deltas of the others",
        "kernel.commit.on_read",
        "[*map(absolute, stay), *left]",
        "[*map(absolute, stay)]",
        first=PARTIAL,
    ),
    "taken-off-unread": Mutant(
        "a view is taken off although a delta has come meanwhile",
        "kernel.commit.on_read",
        "    transaction.read_side_data(DELTAS)\n",
        "",
        first=OVERLAID,
    ),
    "below-deltas": Mutant(
        "a merge that began on a table rewrites the base of what is merged on read by now",
        "kernel.commit.table_commit",
        "        if parent.overlay != self.base.overlay:\n",
        "        if False:\n",
        first=OVERLAID,
    ),
    "view-dropped-late": Mutant(
        "a writer that comes too late drops whatever view has the name by then",
        "kernel.protocol.removals",
        "            if found is None or found.parameters.get(key) != value:\n                break\n",
        "            if found is None or key not in found.parameters:\n                break\n",
        first=RARE,
    ),
    "late-view-stays": Mutant(
        "a view that an earlier version's writer makes too late stays where the next view is to be",
        "kernel.protocol.overlays",
        "            self._free_name(name, base, manifest)\n        else:\n",
        "        else:\n",
        first=RARE,
    ),
    "view-freed-unfenced": Mutant(
        "who takes a late view away does not look whether it is a later version's",
        "kernel.protocol.overlays",
        "            if not own and self._has_claim(base, manifest):\n",
        "            if not own:\n",
        first=RARE,
    ),
    "text-put-back": Mutant(
        "a writer that comes too late lets the view name its version's deltas again",
        "kernel.protocol.overlays",
        "            if row.view_text == text or shown > manifest.version:\n",
        "            if row.view_text == text:\n",
        first=OVERLAID,
    ),
    "text-before-rows": Mutant(
        "a view names deltas no more before its unpartitioned base holds them",
        "kernel.protocol.roll_forward",
        "        waits = not table.partitioned and _folds(manifest, parent)\n",
        "        waits = False\n",
        first=OVERLAID,
    ),
    "folded-at-once": Mutant(
        "deltas are taken away when the view still names them",
        "kernel.commit.on_read",
        "    for folder in folders:\n        transaction.add_sidecar(FOLDED, absolute(folder), concerns=())\n",
        "",
        first=OVERLAID,
    ),
}
