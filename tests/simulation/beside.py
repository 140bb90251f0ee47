"""Themes of several tables beside other programs that drop, move and overwrite partitions of one of them.

And of a metastore that refuses a kind of call until that is corrected. Their seeds are those from
:data:`simulation.seeds.BESIDE` on.
"""

from __future__ import annotations

from dataclasses import replace

from simulation.served_groups import LATE_GROUPS

_BESIDE = replace(LATE_GROUPS, strangers=1.0, faults={"stop": 1, "slow": 1, "late": 1}, most=(0, 0, 1, 2))
BESIDE_THEMES = {
    "groups beside drops": replace(_BESIDE, acts=("drop", "drop", "move", "insert")),
    "groups beside overwrites": replace(_BESIDE, acts=("overwrite", "overwrite", "insert")),
    "groups beside everything": replace(
        _BESIDE, acts=("overwrite", "drop", "move", "insert", "add"), faults=LATE_GROUPS.faults
    ),
    # a metastore that does not compare, and calls that come late under its locks
    "groups by locks": replace(
        LATE_GROUPS, compares=0.0, faults={"late": 1}, calls=("alter_table",), most=(1, 2), upkeep=0.2
    ),
    "groups that are refused": replace(
        LATE_GROUPS,
        refuses_calls=("alter_partitions", "add_partitions", "drop_partition", "create_table", "drop_table"),
        faults={"lose reply": 2, "stop": 3, "die after": 1, "late": 2},
        most=(0, 0, 1, 2),
    ),
}
