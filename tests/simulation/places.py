"""Where readers find the files of a table, and the rows in them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

from lakemerge.kernel.ports.filesystem import FileSystem

#: The rows of a version: facts as texts, sorted, with repeats.
Rows = list[str]


@dataclass(frozen=True)
class Places:
    """Where a reader finds a table's files, and those of the deltas that its view lays over them.

    Attributes:
        astray: partitions that are not where they belong, because a call came late; with where they are, if anywhere.
    """

    base: list[str]
    deltas: list[str]
    astray: Mapping[str, str | None] = field(default_factory=dict)

    def rows(self, files: FileSystem) -> Rows:
        """What the reader sees."""
        return merged_rows(rows_of(files, self.base), rows_of(files, self.deltas))


def merged_rows(base: Rows, deltas: Rows) -> Rows:
    """What a view shows: the base's rows whose key no delta has, and the newest of each key that is in one."""
    newest: dict[str, list[Any]] = {}
    for row in map(json.loads, deltas):
        if row[0] not in newest or newest[row[0]][3] < row[3]:
            newest[row[0]] = row
    if not newest:
        return sorted(base)
    stored = map(json.loads, base)
    kept = [row for row in stored if not isinstance(row, list) or row[0] not in newest]
    return sorted(
        json.dumps(row) for row in (*kept, *(row[:3] for row in newest.values() if row[2] is not None))
    )


def rows_of(files: FileSystem, locations: Sequence[str], without: Set[str] = frozenset()) -> Rows:
    """The facts in the data files of directories. Each file is a JSON array of them.

    Args:
        without: paths of files that are passed over.
    """
    facts: list[Any] = []
    for location in locations:
        for entry in files.list(location):
            if not entry.is_directory and entry.name[:1] not in "_." and entry.path not in without:
                text = files.read_text(entry.path)
                # what streams write is a line a row
                facts += json.loads(text) if text.startswith("[") else text.splitlines()
    return sorted(json.dumps(fact) for fact in facts)
