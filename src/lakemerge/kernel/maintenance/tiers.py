"""Tiers of sizes: parts of about the same size go together when small parts of a table are merged.

So a large part is not rewritten with every few small ones: a row is rewritten once for each time that its part grows by
the factor. Parts below 8 MB are all in one tier: their cost is that of opening files, not of their bytes.
"""

from __future__ import annotations

import math

_FACTOR = 8
_SMALLEST = 1 << 20


def tier_of(size: int) -> int:
    """The tier of a size in bytes, from 0."""
    return int(math.log(max(size, _SMALLEST) / _SMALLEST, _FACTOR))
