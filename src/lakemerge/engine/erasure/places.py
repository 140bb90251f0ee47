"""The files below a table's root, by what they hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from lakemerge.kernel import FileEntry, Layout, normal

# The folders of files that have rows.
_ROWS = ("deltas", "ledger", "quarantine")


@dataclass(frozen=True)
class Place:
    """A file.

    Attributes:
        path: its URI.
        partition: the name of the partition that it belongs to, of a data file; ``None`` where nobody knows.
    """

    path: str
    size: int
    partition: str | None = None


def places_of(
    entries: Iterable[FileEntry], layout: Layout, names: Mapping[str, str]
) -> dict[str, list[Place]]:
    """Files as ``data``, ``deltas``, ``ledger``, ``quarantine`` and ``text``.

    Args:
        names: the partitions by their directories, as far as versions have them.
    """
    found: dict[str, list[Place]] = {kind: [] for kind in ("data", *_ROWS, "text")}
    root = f"{normal(layout.root)}/"
    for entry in entries:
        if entry.size == 0 or (entry.name.startswith(".") and entry.name.endswith(".crc")):
            continue  # a mark, or Hadoop's checksum of another file
        folder, _, name = normal(entry.path).removeprefix(root).rpartition("/")
        parts = folder.split("/") if folder else []
        if parts[:1] != ["_lakemerge"]:
            kind = "text" if name[:1] in "_." else "data"
            below = parts[1:] if parts and parts[0].startswith("late-") else parts
        elif parts[1:2] == ["data"]:
            kind, below = "data", parts[3:]
        else:
            kind, below = (parts[1] if parts[1:2] and parts[1] in _ROWS else "text"), []
        partition = names.get(f"{root}{folder}".rstrip("/"), _by_path(below)) if kind == "data" else None
        found[kind].append(Place(entry.path, entry.size, partition))
    return found


def _by_path(parts: list[str]) -> str | None:
    """A partition's name by its directories; ``None`` if these are not named as Hive names them."""
    return "/".join(parts) if all("=" in part for part in parts) else None
