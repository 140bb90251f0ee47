"""Which seeds are of which worlds: a new world has seeds of its own, so that all others keep what they do."""

#: From here on: worlds of several tables.
GROUPS = 40_000_000
