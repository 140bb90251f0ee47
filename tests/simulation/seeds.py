"""Which seeds are of which worlds: a new world has seeds of its own, so that all others keep what they do."""

#: From here on: tables that are merged on read.
OVERLAID = 20_000_000
#: Merges that change some columns of a row, and deltas that are moved a part at a time.
PARTIAL = 25_000_000
#: Few things done often, which other worlds come to once in tens of thousands of seeds.
NARROW = 30_000_000
#: Rows that are made anew by processes that sleep.
SLEPT = 35_000_000
#: The rarest: each of its themes has one moment that matters, and faults at the calls around it.
RARE = 37_000_000
#: Several tables.
GROUPS = 40_000_000
#: Several tables, some of whose commits wait to be looked at before they are published.
STAGED = 45_000_000
#: A metastore that carries out calls late, or refuses some for good, and what else a cluster has.
SERVED = 100_000_000
#: The same with several tables.
SERVED_GROUPS = 110_000_000
#: A metastore that refuses a kind of call, operators who correct that or end what it has left, and readers of what came
#: late.
REFUSING = 120_000_000
#: Several tables, and other programs that drop, move and overwrite their partitions.
BESIDE = 130_000_000
#: Processes that are forked while they are at work.
FORKING = 140_000_000
#: Consumers that follow the changes of a table, version by version.
CHANGING = 150_000_000
#: Earlier versions are brought back, beside writers, vacuum, and consumers of the changes.
RESTORING = 160_000_000
#: Rows that are changed by a condition, wherever they are.
CONDITIONAL = 170_000_000

#: The first seed of each world.
WORLDS = (
    0,
    OVERLAID,
    PARTIAL,
    NARROW,
    SLEPT,
    RARE,
    GROUPS,
    STAGED,
    SERVED,
    SERVED_GROUPS,
    REFUSING,
    BESIDE,
    FORKING,
    CHANGING,
    RESTORING,
    CONDITIONAL,
)


def has_several_tables(seed: int) -> bool:
    """Whether a seed's world has several tables."""
    return GROUPS <= seed < SERVED or SERVED_GROUPS <= seed < REFUSING or BESIDE <= seed < FORKING
