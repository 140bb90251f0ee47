"""What commits record for later ones, such as the highest sequence, when another commit came between."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lakemerge.kernel.table.manifest import Manifest


def united_properties(
    mine: Mapping[str, Any], base: Manifest | None, parent: Manifest | None
) -> dict[str, Any]:
    """The properties of a commit that was made on ``base`` and follows on ``parent``.

    Args:
        parent: ``None`` where the commit replaces whatever was there.
    """
    properties = dict(mine)
    if parent is None or base is None or parent.txn == base.txn:
        return properties
    for key, value in parent.properties.items():
        own = properties.get(key)
        if isinstance(value, list) and isinstance(own, list):
            properties[key] = own + [item for item in value if item not in own]
        elif isinstance(value, int) and isinstance(own, int):
            # a sum such as the number of rows: theirs, and what this transaction adds
            properties[key] = value + own - base.properties.get(key, 0)
        elif own is not None and own == base.properties.get(key):
            properties[key] = value
    for key in set(properties) - set(parent.properties):
        del properties[key]
    return properties
