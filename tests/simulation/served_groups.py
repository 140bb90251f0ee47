"""Themes of several tables on a cluster's metastore; see :mod:`simulation.served`.

Their seeds are those from :data:`simulation.seeds.SERVED_GROUPS` on.
"""

from __future__ import annotations

from dataclasses import replace

from simulation.theme import Theme

_DECIDES = ("alter_table", "alter_table", "create_table")
LATE_GROUPS = Theme(
    3,
    strangers=0.0,
    upkeep=0.5,
    tears=0.1,
    faults={"late": 5, "die late": 2, "lose reply": 1, "stop": 1},
    calls=("",),
    most=(1, 2, 3),
    folders=True,
)
SERVED_GROUP_THEMES = {
    "late groups": LATE_GROUPS,
    # calls that decide, and those that roll forward
    "late groups: claims": replace(LATE_GROUPS, calls=_DECIDES),
    "late groups: swaps": replace(
        LATE_GROUPS, calls=("alter_partitions", "add_partitions", "drop_partition", "drop_table")
    ),
    # one table of a commit gets what the metastore cannot hold: none of it stands, and no table is held up
    "refused groups": replace(LATE_GROUPS, refuses=True, faults={"lose reply": 1, "stop": 1}, most=(0, 0, 1)),
    # claims whose writers died long ago
    "orphaned groups": replace(
        LATE_GROUPS,
        upkeep=1.0,
        retention=40.0,
        faults={"die after": 3, "die late": 2},
        calls=(*_DECIDES, "alter_partitions"),
        most=(1, 1, 2),
    ),
    # other programs insert, and add partitions
    "strange groups": replace(
        LATE_GROUPS,
        strangers=1.0,
        acts=("insert", "insert", "add"),
        faults={"stop": 1, "slow": 1, "late": 1},
        most=(0, 1, 2),
    ),
}
