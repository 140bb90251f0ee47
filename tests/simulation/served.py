"""Themes of a cluster's metastore: it answers too late, carries out what its clients gave up, and refuses for good.

And of what other worlds never do: see each theme. Their seeds are those from :data:`simulation.seeds.SERVED` on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from simulation.theme import EVERYTHING, Theme, either

LATE: Mapping[str, int] = {"late": 5, "die late": 2, "lose reply": 1, "stop": 1}
SERVED_BASE = Theme(0, strangers=0.0, tears=0.1, faults=LATE, calls=("",), most=(1, 2, 3), folders=True)
_KEYED = ("partitioned", "partitioned", "whole")
_QUIET: Mapping[str, int] = {"stop": 1, "slow": 1}


_THEMES = {
    # any call, with everything that there is
    "late calls": replace(SERVED_BASE, strangers=0.2),
    "late claims": replace(
        SERVED_BASE,
        calls=("alter_table", "create_table"),
        work={
            "partitioned": {"merge": 60, "drop": 15, "remake": 25},
            "whole": {"merge": 60, "drop": 15, "remake": 25},
            "append": {"append": 60, "drop": 15, "remake": 25},
        },
        writers=(3,),
        several=(2, 3),
        consumed=0.2,
        streams=0.0,
    ),
    "late swaps": replace(
        SERVED_BASE,
        kinds=("partitioned",),
        work={"partitioned": {"merge": 50, "overwrite": 30, "replace": 15, "rewrite": 5}},
        calls=("alter_partitions", "alter_partitions", "add_partitions", "drop_partition"),
        several=(2, 3, 4),
        keys=4,
        upkeep=0.6,
        retention=40.0,
    ),
    "late appends": replace(
        SERVED_BASE,
        kinds=("append",),
        work={"append": {"append": 65, "compact": 35}},
        calls=("add_partitions", "add_partitions", "alter_partitions", "drop_partition"),
        several=(2, 3, 4),
        consumed=0.2,
        upkeep=0.6,
        retention=40.0,
    ),
    "late drops": replace(
        SERVED_BASE,
        kinds=("partitioned", "whole", "append"),
        work={
            "partitioned": {"drop": 40, "remake": 40, "merge": 20},
            "whole": {"drop": 40, "remake": 40, "merge": 20},
            "append": {"drop": 40, "remake": 40, "append": 20},
        },
        calls=("drop_table", "drop_table", "create_table", "alter_table", "delete"),
        writers=(3,),
        several=(2, 3),
        consumed=0.0,
        streams=0.0,
    ),
    "late on read": replace(
        SERVED_BASE,
        kinds=("partitioned", "whole"),
        work=either(
            {
                "overlaid merge": 50,
                "lay": 14,
                "fold": 8,
                "into base": 12,
                "retire": 6,
                "take off": 10,
                "recover": 4,
                "pack": 8,
            }
        ),
        several=(2, 3, 4),
        keys=4,
        calls=(
            "alter_table",
            "create_table",
            "drop_table",
            "alter_partitions",
            "add_partitions",
            "drop_partition",
        ),
    ),
    "late files": replace(
        SERVED_BASE,
        calls=("write_text", "delete", "move", "make_directory", "delete_if_empty"),
        strangers=0.4,
        upkeep=0.6,
        retention=40.0,
    ),
    # a value that no row may have: who asks for it is told so, and nobody else is held up
    "refused values": replace(
        SERVED_BASE,
        work={
            "partitioned": {"merge": 50, "describe": 35, "overwrite": 15},
            "whole": {"merge": 60, "describe": 40},
            "append": {"append": 45, "describe": 25, "odd append": 30},
        },
        consumed=0.0,
        refuses=True,
        faults={"lose reply": 1, "stop": 1, "die after": 1},
        most=(0, 0, 1),
    ),
    # replacements beside drops
    "replaced and dropped": replace(
        SERVED_BASE,
        kinds=("partitioned",),
        work={"partitioned": {"replace": 25, "rewrite": 20, "flatten": 15, "drop": 15, "remake": 25}},
        writers=(3,),
        several=(2, 3),
        faults={**_QUIET, "late": 1},
    ),
    # what is staged before anything is read
    "staged first": replace(
        SERVED_BASE,
        kinds=_KEYED,
        work={
            "partitioned": {"stage first": 50, "rewrite": 20, "merge": 15, "drop": 5, "remake": 10},
            "whole": {"stage first": 60, "merge": 25, "drop": 5, "remake": 10},
        },
        writers=(3,),
        faults=_QUIET,
    ),
    # claims whose writers died long ago, with a vacuum and readers by then
    "orphaned": replace(
        SERVED_BASE,
        kinds=("partitioned", "append"),
        consumed=0.0,
        streams=0.0,
        writers=(2,),
        several=(1, 2),
        upkeep=1.0,
        upkeeps=(2, 3),
        retention=40.0,
        reads_late=True,
        faults={"die after": 3, "die late": 1},
        calls=("alter_table", "alter_partitions", "add_partitions"),
        most=(1, 1, 2),
    ),
    # directories that others overwrite, through several vacuums
    "overwritten and vacuumed": replace(
        SERVED_BASE,
        kinds=_KEYED,
        work=either({"merge": 70, "overwrite": 30}),
        keys=3,
        strangers=1.0,
        acts=("overwrite", "overwrite", "insert"),
        upkeep=1.0,
        upkeeps=(3, 4),
        retention=40.0,
        faults=_QUIET,
        most=(0, 0, 1),
    ),
    # versions that have names
    "named": replace(
        SERVED_BASE,
        work={kind: {**work, "name": 40} for kind, work in EVERYTHING.items()},
        upkeep=1.0,
        upkeeps=(2, 3),
        retention=40.0,
        faults=_QUIET,
        most=(0, 1, 2),
    ),
    # side data that people query
    "quarantined": replace(
        SERVED_BASE,
        kinds=("append",),  # which are all that an ingest writes to
        work={"append": {"append": 30, "compact": 10, "reject": 60}},
        consumed=0.0,
        calls=("alter_partitions", "add_partitions", "drop_partition", "create_table", "alter_table"),
    ),
    # two processes with streams of one name, and many streams whose progress is folded
    "one name": replace(
        SERVED_BASE, kinds=("append",), consumed=0.0, streams=1.0, names=("one", "one"), writers=(0, 1)
    ),
    "many streams": replace(
        SERVED_BASE,
        kinds=("append",),
        consumed=0.0,
        streams=1.0,
        names=("one", "two", "three"),
        batches_each=12,
        writers=(0, 1),
        faults=_QUIET,
        most=(0, 0, 1),
    ),
}
SERVED_THEMES = {f"served: {name}": theme for name, theme in _THEMES.items()}
