"""Names of options that are almost one of ours: a config may have any name, so a slip would be ignored in silence."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set
from difflib import get_close_matches

from lakemerge.compaction_thresholds import DELTAS, DELTAS_PERCENT, FILES, PARTITIONS

# Names that are as close as this are taken for slips: one letter of nine, or two of seventeen.
_CLOSE = 0.88
# Shorter ones are close to ordinary words: `sync` to `async`.
_SHORTEST = 5
# Gives the names that others read from the same configs.
_elsewhere: Callable[[], Set[str]] = frozenset
# What other adapters call theirs. A project that runs on several has it beside ours.
_OF_OTHERS = {"partitioned_by": "partition_by", "table_properties": "tblproperties"}

_BY_HAND = "`compaction: off` leaves it to lakemerge_compact"
#: What were options, and what takes their place. Their values are numbers of lakemerge.compaction_thresholds now.
GONE: Mapping[str, str] = {
    "compact_files": f"a partition of {FILES} small files is packed; {_BY_HAND}",
    "compact_after": f"{PARTITIONS} small partitions become one; {_BY_HAND}",
    "compact_below": "`target_file_size` also says which partitions are small",
    "compact_deltas": f"{DELTAS} deltas are compacted; {_BY_HAND}",
    "compact_deltas_percent": f"deltas of {DELTAS_PERCENT} percent of the base's bytes move into it; {_BY_HAND}",
}


def meant(given: Iterable[str], known: Iterable[str]) -> dict[str, str]:
    """The names that are none of these known ones, and almost one of them; with the one that each is almost.

    A name that others read passes; see :func:`let_pass`.
    """
    names, ours = set(given), set(known)
    squeezed = {_squeezed(name): name for name in ours if len(_squeezed(name)) >= _SHORTEST}
    found = {}
    for name in sorted(names - ours - _elsewhere()):
        near = get_close_matches(_squeezed(name), squeezed, 1, _CLOSE)
        if near and _OF_OTHERS.get(name) not in names:
            found[name] = squeezed[near[0]]
    return found


def let_pass(names: Callable[[], Set[str]]) -> None:
    """Take no name for a slip that others read from the same configs, such as dbt."""
    global _elsewhere
    _elsewhere = names


def _squeezed(name: str) -> str:
    """A name as it is spelled in any style: `writeMode` and `write-mode` are `write_mode`."""
    return name.lower().replace("_", "").replace("-", "")
