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
