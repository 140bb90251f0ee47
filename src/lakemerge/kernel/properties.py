"""What commits tell later ones, such as the highest sequence or side data, when another commit came between."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from lakemerge.kernel.manifest import Manifest


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
    for key in set(properties) - set(parent.properties):
        del properties[key]
    return properties


#: Folders of side data by kind, each with what they are to those that there are: an addition (``add``), all there is
#: (``set``), or what stands for those of the version that the transaction was begun on (``fold``).
Sidecars = Mapping[str, tuple[Sequence[str], Literal["add", "set", "fold"]]]


def replaced_meanwhile(mine: Sidecars, base: Manifest | None, parent: Manifest | None) -> str:
    """A kind of side data that this commit would replace without having seen all of it; empty if there is none."""
    for kind, (_, mode) in mine.items():
        before = base.sidecars.get(kind, ()) if base else ()
        now = parent.sidecars.get(kind, ()) if parent else before
        if (mode == "set" and base and now != before) or (mode == "fold" and not set(before) <= set(now)):
            return kind
    return ""


def united_sidecars(
    mine: Sidecars, base: Manifest | None, parent: Manifest | None
) -> dict[str, tuple[str, ...]]:
    """The side data of a commit that follows on ``parent``; ``None`` where nothing of before is kept."""
    sidecars = dict(parent.sidecars) if parent else {}
    for kind, (paths, mode) in mine.items():
        before = base.sidecars.get(kind, ()) if base else ()
        now = sidecars.get(kind, ())
        later = tuple(path for path in now if path not in before)
        sidecars[kind] = {"add": (*now, *paths), "set": tuple(paths), "fold": (*paths, *later)}[mode]
    return sidecars
