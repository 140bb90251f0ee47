"""Tiers of sizes: what is about as large goes together when small parts of a table are merged.

So a large part is not written again with every few small ones: a row is rewritten once for each time that its part
grows by the factor. Below 8 MB all are of one tier: there the cost is that of opening files, not of their bytes.
"""

from __future__ import annotations

import math

_FACTOR = 8
_SMALLEST = 1 << 20


def tier_of(size: int) -> int:
    """The tier of a size in bytes, from 0."""
    return int(math.log(max(size, _SMALLEST) / _SMALLEST, _FACTOR))
