"""Themes of a metastore that refuses a kind of call, and of readers who come while something is astray.

Their seeds are those from :data:`simulation.seeds.REFUSING` on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from simulation.served import LATE, SERVED_BASE
from simulation.theme import EVERYTHING, Theme, either

#: Calls that can be refused after a claim, because nobody can try them out before it.
_AFTERWARDS = ("alter_partitions", "add_partitions", "drop_partition")
_REFUSED = replace(
    SERVED_BASE,
    consumed=0.0,
    streams=0.0,
    upkeep=0.6,
    faults={"lose reply": 2, "stop": 3, "die after": 1, "late": 2},
    calls=("", *_AFTERWARDS, "alter_table"),
    most=(0, 0, 1, 2),
    refuses_calls=_AFTERWARDS,
)
_IN_PLACE: Mapping[str, Mapping[str, int]] = {
    "partitioned": {"merge": 60, "overwrite": 15, "replace": 10, "rewrite": 15},
    "append": {"append": 75, "compact": 25},
}
_ASTRAY = replace(
    SERVED_BASE,
    consumed=0.0,
    streams=0.0,
    faults=LATE,
    upkeep=0.7,
    upkeeps=(1, 2, 3),
    retention=40.0,
    judges_late=True,
    readers=(2, 3),
    reads_each=6,
)

_THEMES: Mapping[str, Theme] = {
    # until it is corrected: whoever was refused is told so, and then everything goes on
    "and corrected": replace(
        _REFUSED,
        kinds=("partitioned", "partitioned", "append"),
        work=_IN_PLACE,
        refuses_calls=(*_AFTERWARDS, "create_table", "drop_table", "alter_table"),
    ),
    # an operator has what is refused undone, while its writer may sleep
    "and undone": replace(_REFUSED, kinds=("partitioned", "append"), work=_IN_PLACE, operators=True),
    "and undone, on read": replace(
        _REFUSED,
        kinds=("partitioned", "whole"),
        work=either({"overlaid merge": 40, "lay": 25, "fold": 10, "into base": 10, "take off": 15}),
        refuses_calls=(*_AFTERWARDS, "create_table", "create_table", "drop_table"),
        operators=True,
    ),
    # a proxy cuts off every answer to a call that takes long
    "answers are cut off": replace(
        SERVED_BASE,
        consumed=0.0,
        streams=0.0,
        kinds=("partitioned", "partitioned", "whole", "append"),
        work={**EVERYTHING, "partitioned": {"merge": 50, "overwrite": 15, "replace": 15, "flatten": 20}},
        faults={"slow": 1},
        most=(0,),
        cuts=(*_AFTERWARDS, "create_table", "alter_table"),
    ),
    # tables that are made by calls which come late, one after the other
    "creations come late": replace(
        SERVED_BASE,
        consumed=0.0,
        streams=0.0,
        work={
            "partitioned": {"drop": 35, "remake": 55, "merge": 10},
            "whole": {"drop": 35, "remake": 55, "merge": 10},
            "append": {"drop": 35, "remake": 55, "append": 10},
        },
        several=(2, 3),
        faults={"late": 1},
        calls=("create_table",),
        most=(5, 8, 12),
    ),
    # a metastore that does not compare, and calls that come late under its locks
    "by locks": replace(
        SERVED_BASE,
        compares=0.0,
        consumed=0.0,
        streams=0.0,
        upkeep=0.2,
        kinds=("partitioned", "whole"),
        work=either({"overlaid merge": 35, "lay": 25, "take off": 25, "flatten": 15}),
        faults={"late": 1},
        calls=("alter_table",),
        most=(1, 2),
    ),
    # vacuums that come while a late call is not put right yet
    "vacuums of late swaps": replace(
        SERVED_BASE,
        kinds=("partitioned",),
        work={"partitioned": {"overwrite": 80, "merge": 20}},
        keys=2,
        writers=(2,),
        several=(2, 3),
        faults={"late": 1},
        calls=("alter_partitions",),
        most=(1, 2),
        upkeep=1.0,
        upkeeps=(6, 8),
        retention=5.0,
    ),
    # partitions that come and go, and drops that come late
    "late drops of partitions": replace(
        SERVED_BASE,
        kinds=("partitioned",),
        work={"partitioned": {"merge": 80, "replace": 20}},
        keys=2,
        writers=(3,),
        several=(3, 4),
        faults={"late": 1},
        calls=("drop_partition",),
        most=(2, 3),
    ),
    # readers who come while a late call is not put right yet
    "readers of late swaps": replace(
        _ASTRAY,
        kinds=("partitioned",),
        work={"partitioned": {"merge": 45, "overwrite": 40, "replace": 15}},
        calls=("alter_partitions", "alter_partitions", "add_partitions", "drop_partition"),
        several=(2, 3, 4),
        keys=4,
    ),
    "readers of late appends": replace(
        _ASTRAY,
        kinds=("append",),
        work={"append": {"append": 60, "compact": 40}},
        calls=("add_partitions", "add_partitions", "alter_partitions", "drop_partition"),
        several=(2, 3, 4),
    ),
}
REFUSED_THEMES = {f"refused: {name}": theme for name, theme in _THEMES.items()}
