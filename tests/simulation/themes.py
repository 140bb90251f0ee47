"""What a run is mostly about: seeds that do few kinds of things, and have few kinds of faults, get deeper into them.

A run that may do anything seldom does the same rare thing twice. So most seeds draw a theme, which leaves out most of
what there is (swarm testing); the others draw from everything.
"""

from __future__ import annotations

import dataclasses
import random

from simulation.forks import FORKED_THEMES
from simulation.refused import REFUSED_THEMES
from simulation.seeds import (
    CHANGING,
    CONDITIONAL,
    FORKING,
    NARROW,
    OVERLAID,
    PARTIAL,
    RARE,
    REFUSING,
    RESTORING,
    SERVED,
    SLEPT,
)
from simulation.served import SERVED_THEMES
from simulation.theme import Theme, either

THEMES = {
    "anything": Theme(8),
    # swaps that come too late, repairs that do, and others that commit meanwhile
    "late": Theme(
        3,
        kinds=("partitioned",),
        work={"partitioned": {"merge": 90, "recover": 10}},
        writers=(3,),
        several=(2, 3),
        keys=3,
        upkeep=0.2,
        strangers=0.0,
        tears=0.0,
        faults={"stop": 3, "lose reply": 1},
        calls=("alter_partitions", "alter_partitions", "add_partitions", "partitions"),
        most=(1, 2, 3, 3),
    ),
    # the same, with repairs that come too late as well
    "repaired": Theme(
        2,
        kinds=("partitioned",),
        work={"partitioned": {"overwrite": 60, "merge": 40}},
        writers=(3,),
        several=(3, 4),
        keys=3,
        upkeep=0.0,
        strangers=0.0,
        tears=0.0,
        faults={"stop": 1},
        calls=("alter_partitions",),
        most=(2, 3, 4),
    ),
    # outcomes that nobody was told
    "lost": Theme(
        2,
        kinds=("append", "append", "partitioned", "whole"),
        consumed=0.2,
        streams=0.9,
        faults={"lose reply": 3, "lose request": 2, "restart": 1, "die after": 1},
        calls=("alter_table", "alter_table", "alter_partitions", "create_table", "add_partitions"),
        most=(2, 3, 5),
    ),
    # writers that sleep while what they have staged is cleared up
    "cleared": Theme(
        1,
        kinds=("partitioned", "whole"),
        several=(1, 2),
        upkeep=1.0,
        strangers=0.0,
        retention=40.0,
        faults={"stop": 4, "die before": 1},
        calls=("write_text", "alter_table", "list", "get_table"),
        most=(1, 2, 3),
    ),
    # partitions that come and go while a swap is under way
    "removed": Theme(
        1,
        kinds=("partitioned",),
        work={"partitioned": {"merge": 60, "replace": 30, "overwrite": 10}},
        writers=(3,),
        strangers=0.0,
        tears=0.0,
        faults={"stop": 1},
        calls=("drop_partition", "partitions", "alter_partitions"),
        most=(1, 2, 3),
    ),
    # other programs in the midst of it
    "overwritten": Theme(
        1,
        kinds=("partitioned", "whole"),
        work={"partitioned": {"merge": 1}, "whole": {"merge": 1}},
        keys=3,
        acts=("overwrite", "overwrite", "overwrite", "insert"),
        strangers=1.0,
        faults={"stop": 1, "slow": 3},
        calls=("write_text", "write_text", "alter_table"),
        most=(0, 1, 2, 3),
    ),
    "strange": Theme(
        1,
        kinds=("partitioned", "whole"),
        strangers=1.0,
        faults={"stop": 1, "slow": 1},
        calls=("write_text", "alter_table", "move"),
        most=(0, 1, 2),
    ),
    # runs of one consumer, which meet each other, compactions and vacuum
    "consumed": Theme(
        3,
        kinds=("append",),
        writers=(1, 2),
        consumed=1.0,
        streams=0.2,
        strangers=0.0,
    ),
    # compactions that others overtake, in part or as a whole, and other programs beside them
    "compacted": Theme(
        2,
        work={
            "partitioned": {"pack": 50, "merge": 25, "overwrite": 20, "replace": 5},
            "whole": {"pack": 50, "merge": 40, "overwrite": 10},
            "append": {"compact": 35, "pack": 25, "append": 40},
        },
        writers=(2, 3),
        upkeep=0.5,
        strangers=0.5,
    ),
    # tables that go, and others of their names
    "dropped": Theme(
        2,
        work={
            "partitioned": {"merge": 50, "drop": 20, "remake": 30},
            "whole": {"merge": 50, "drop": 20, "remake": 30},
            "append": {"append": 50, "compact": 5, "drop": 15, "remake": 30},
        },
        writers=(3,),
        several=(2, 3),
        consumed=0.4,
        streams=0.0,
        strangers=0.0,
    ),
    # files that are read once
    "ingested": Theme(
        1,
        kinds=("append",),
        work={"append": {"ingest": 75, "compact": 12, "anew": 5, "drop": 3, "remake": 5}},
        several=(2, 3),
        consumed=0.0,
        streams=0.0,
        strangers=0.0,
        lands=True,
    ),
}


THEMES["overlaid"] = Theme(
    0,
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
    writers=(2, 3, 3),
    several=(2, 3, 4),
    keys=4,
    strangers=0.0,
)
THEMES["overlaid and dropped"] = dataclasses.replace(
    THEMES["overlaid"],
    work=either({"overlaid merge": 40, "lay": 20, "into base": 12, "take off": 10, "drop": 8, "remake": 14}),
)
THEMES["overlaid, late"] = dataclasses.replace(
    THEMES["overlaid"],
    faults={"stop": 3, "lose reply": 1, "lose request": 1, "die after": 1},
    calls=("alter_table", "alter_table", "create_table", "drop_table", "alter_partitions", "add_partitions"),
    most=(1, 2, 3, 4),
)


THEMES["partial: in place"] = Theme(
    0,
    kinds=("partitioned", "whole"),
    work=either({"partial merge": 70, "merge": 12, "pack": 10, "overwrite": 8}),
    writers=(2, 3, 3),
    several=(2, 3),
    keys=3,
)
THEMES["partial: on read"] = dataclasses.replace(
    THEMES["overlaid"],
    work=either(
        {
            "overlaid partial merge": 45,
            "overlaid merge": 8,
            "lay": 16,
            "fold": 6,
            "into base": 5,
            "some into base": 14,
            "retire": 6,
            "take off": 6,
            "pack": 8,
        }
    ),
    keys=6,
    strangers=0.4,
    acts=("insert",),
)


THEMES["narrow: compactions meet"] = Theme(
    0,
    kinds=("append",),
    work={"append": {"append": 55, "compact": 45}},
    writers=(3,),
    several=(3, 4, 5),
    consumed=0.0,
    streams=0.0,
    upkeep=0.0,
    strangers=0.0,
    most=(0, 0, 1),
)
THEMES["narrow: drops die"] = Theme(
    0,
    kinds=("partitioned", "whole"),
    work=either({"merge": 40, "drop": 40, "remake": 20}),
    writers=(2, 3),
    several=(2, 3),
    upkeep=0.0,
    strangers=0.0,
    tears=0.0,
    faults={"die before": 1, "die after": 1},
    calls=("drop_table",),
    most=(1, 2),
    adopts=1.0,
)
THEMES["narrow: rows made anew"] = Theme(
    0,
    kinds=("partitioned",),
    work={"partitioned": {"flatten": 60, "merge": 40}},
    writers=(2,),
    several=(2, 3),
    upkeep=0.0,
    strangers=0.0,
    tears=0.0,
    faults={"lose request": 2, "lose reply": 1, "die before": 1},
    calls=("create_table",),
    most=(1, 2, 3),
)
THEMES["slept: rows made anew"] = Theme(
    0,
    kinds=("partitioned", "whole"),
    work=either({"flatten": 65, "merge": 20, "drop": 7, "remake": 8}),
    writers=(3,),
    several=(2, 3),
    upkeep=0.0,
    strangers=0.0,
    tears=0.0,
    faults={"stop": 4, "die before": 1},
    calls=("create_table", "create_table", "alter_table"),
    most=(2, 3, 4),
)
THEMES["narrow: vacuum meets writers"] = Theme(
    0,
    several=(2, 3),
    consumed=0.0,
    upkeep=1.0,
    strangers=0.0,
    retention=0.2,
    most=(0,),
)


_RARE = Theme(
    0,
    kinds=("partitioned",),
    writers=(3,),
    consumed=0.0,
    streams=0.0,
    upkeep=0.0,
    strangers=0.0,
    tears=0.0,
    batches=0.0,
    adopts=0.0,
    faults={"stop": 1},
)
THEMES["rare: views come and go"] = dataclasses.replace(
    _RARE,
    kinds=("partitioned", "whole"),
    work=either({"take off": 45, "lay": 45, "overlaid merge": 10}),
    several=(3, 4),
    calls=("create_table", "drop_table", "alter_table", "get_table"),
    faults={"stop": 4, "die before": 1},
    most=(1, 2, 3),
)
THEMES["rare: views come late"] = dataclasses.replace(
    THEMES["rare: views come and go"], calls=("create_table",), faults={"stop": 1}, most=(2, 3, 4)
)
THEMES["rare: swaps come late"] = dataclasses.replace(
    _RARE,
    work={"partitioned": {"overwrite": 100}},
    several=(2, 3),
    keys=2,
    calls=("alter_partitions",),
    most=(2, 3, 4),
)
THEMES["rare: drops die, and tables are adopted"] = dataclasses.replace(
    _RARE,
    kinds=("partitioned", "whole"),
    work=either({"drop": 60, "merge": 40}),
    several=(1, 2),
    calls=("drop_table", "drop_table", "delete"),
    faults={"die before": 1, "die after": 1},
    most=(1, 2),
    adopts=1.0,
)
THEMES["rare: makers sleep"] = dataclasses.replace(
    _RARE,
    kinds=("partitioned", "whole"),
    work=either({"drop": 45, "remake": 55}),
    several=(2, 3),
    calls=("create_table", "get_table", "write_text"),
    most=(1, 2, 3),
)

THEMES["rare: others write where a table was before it was adopted"] = dataclasses.replace(
    _RARE,
    kinds=("partitioned", "whole"),
    work=either({"merge": 70, "overwrite": 30}),
    writers=(1, 2),
    several=(1, 2),
    keys=3,
    strangers=1.0,
    acts=("insert",),
    upkeep=0.5,
    retention=40.0,
    most=(0,),
    adopts=1.0,
)


# runs of one consumer of changes, which meet each other, compactions, vacuum and faults
THEMES["changing"] = Theme(
    0,
    work={
        **either({"merge": 55, "overwrite": 15, "pack": 20, "replace": 10}),
        "append": {"append": 60, "compact": 25, "pack": 15},
    },
    writers=(2, 3),
    several=(2, 3, 4),
    keys=3,
    consumed=1.0,
    streams=0.0,
    upkeep=0.7,
    strangers=0.0,
    retention=40.0,
    adopts=0.0,
    changes=True,
)
THEMES["changing, late"] = dataclasses.replace(
    THEMES["changing"],
    faults={"stop": 3, "lose reply": 1, "lose request": 1, "die before": 1, "die after": 2},
    calls=("write_text", "alter_table", "alter_partitions", "create_table", "get_table", "list"),
    most=(1, 2, 3, 4),
)


THEMES["conditional"] = Theme(
    0,
    kinds=("partitioned", "partitioned", "whole"),
    work=either({"by condition": 45, "copy": 20, "merge": 25, "overwrite": 4, "pack": 6}),
    writers=(2, 3, 3),
    several=(2, 3),
    keys=6,
    consumed=0.0,
)
THEMES["conditional, late"] = dataclasses.replace(
    THEMES["conditional"],
    strangers=0.0,
    tears=0.0,
    faults={"stop": 3, "lose reply": 1, "lose request": 1, "die after": 1},
    calls=("alter_table", "alter_partitions", "add_partitions", "drop_partition", "write_text"),
    most=(1, 2, 3, 4),
)


# earlier versions brought back, which consumers of changes follow, and some of which vacuum takes or a name keeps
THEMES["restoring"] = dataclasses.replace(
    THEMES["changing"],
    kinds=("partitioned", "partitioned", "whole"),
    work=either({"merge": 45, "restore": 30, "overwrite": 8, "pack": 7, "replace": 3, "name": 7}),
    writers=(2, 3),
    consumed=0.7,
)
THEMES["restoring, late"] = dataclasses.replace(
    THEMES["restoring"],
    faults=THEMES["changing, late"].faults,
    calls=THEMES["changing, late"].calls,
    most=(1, 2, 3, 4),
)
THEMES["restoring, rebuilt and dropped"] = dataclasses.replace(
    THEMES["restoring"],
    work=either({"merge": 45, "restore": 35, "rewrite": 8, "drop": 4, "remake": 8}),
    consumed=0.0,
)


THEMES.update(SERVED_THEMES)
THEMES.update(REFUSED_THEMES)
THEMES.update(FORKED_THEMES)


def theme_of(seed: int) -> str:
    """The name of a seed's theme."""
    dice = random.Random(f"{seed} theme")
    if seed < OVERLAID:
        names = [name for name in THEMES if THEMES[name].weight]
        return dice.choices(names, [THEMES[name].weight for name in names])[0]
    worlds = {
        CONDITIONAL: "conditional",
        RESTORING: "restoring",
        CHANGING: "changing",
        FORKING: "forked",
        REFUSING: "refused",
        SERVED: "served",
        RARE: "rare",
        SLEPT: "slept",
        NARROW: "narrow",
        PARTIAL: "partial",
        OVERLAID: "overlaid",
    }
    world = next((name for first, name in worlds.items() if seed >= first), "overlaid")
    return dice.choice([name for name in THEMES if name.startswith(world)])
