"""What is in a landing folder, and what to read of it now."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from lakemerge.errors import LandingNotFound
from lakemerge.ingest.file_ledger import FileLedger
from lakemerge.kernel import FileEntry, FileSystem

#: Names that programs give to files that they have not finished.
UNFINISHED = (
    "_*",
    ".*",
    "*.tmp",
    "*.temp",
    "*.part",
    "*.partial",
    "*.crdownload",
    "*.inprogress",
    "*._COPYING_",
)


@dataclass(frozen=True)
class LandingRules:
    """Which files of a landing folder are to be read.

    Attributes:
        patterns: paths or globs of files and folders; a folder stands for all files in it, at any depth.
        ignore_names: patterns of names of files and folders to leave alone.
        settle_seconds: a file that changed within this many seconds may still grow, so it is skipped.
        done_marker: a name (``_SUCCESS``): files are read when their folder has it. Or a name with a ``*``
            (``*.done``): a file is read when there is one of that name, with its own name in place of the star. Empty
            for none.
        reread_changed: read files again that changed since they were read.
        max_files, max_bytes: at most this much in one run, the oldest first; 0 for no limit. One file is always read.
        takes_empty: whether a file of 0 bytes is a complete one without records. If files have a header, a footer or
            types of their own, it is a file that nobody has written to yet, and so is a compressed file of 0 bytes.
    """

    patterns: tuple[str, ...]
    ignore_names: tuple[str, ...] = UNFINISHED
    settle_seconds: int = 10
    done_marker: str = ""
    reread_changed: bool = False
    max_files: int = 0
    max_bytes: int = 0
    takes_empty: bool = True


@dataclass
class Arrivals:
    """What a look at the landing folder found.

    Attributes:
        chosen: to be read now, the oldest first.
        changed: read before and changed since then.
        unfinished: too young, without their done marker, or still empty.
        backlog: left for a later run, because this one reaches its limits.
    """

    chosen: list[FileEntry] = field(default_factory=list)
    changed: list[FileEntry] = field(default_factory=list)
    unfinished: list[FileEntry] = field(default_factory=list)
    backlog: list[FileEntry] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to commit."""
        return not self.chosen

    @property
    def counts(self) -> dict[str, int]:
        """What the result of a run reports."""
        return {"files": len(self.chosen), "backlog": len(self.backlog), "changed": len(self.changed)}

    @property
    def read(self) -> dict[str, int]:
        """How much is read."""
        return {"files": len(self.chosen), "bytes": sum(entry.size for entry in self.chosen)}

    @property
    def behind(self) -> dict[str, int]:
        """How much is left, in the same units."""
        return {"files": len(self.backlog), "bytes": sum(entry.size for entry in self.backlog)}


def look(files: FileSystem, rules: LandingRules, ledger: FileLedger, now: int) -> Arrivals:
    """Find what is to be read.

    Args:
        ledger: what has been read.
        now: milliseconds since 1970 by the clock that files are compared with.

    Raises:
        LandingNotFound: a path without a wildcard does not exist.
        CorruptTable: the ledger cannot be read.
    """
    found = Arrivals()
    new = []
    markers: dict[str, bool] = {}
    landed = list(_landed(files, rules))
    known = ledger.compare(landed)
    for entry in landed:
        is_same = known.get(entry.path)
        if is_same is False:
            found.changed.append(entry)
        if is_same or (is_same is False and not rules.reread_changed):
            continue
        settled = entry.modified <= now - rules.settle_seconds * 1000 and _has_content(files, rules, entry)
        if settled and _is_marked(files, rules.done_marker, entry, markers):
            new.append(entry)
        else:
            found.unfinished.append(entry)
    size = 0
    for entry in sorted(new, key=lambda entry: (entry.modified, entry.path)):
        size += entry.size
        full = (rules.max_files and len(found.chosen) >= rules.max_files) or (
            rules.max_bytes and found.chosen and size > rules.max_bytes
        )
        (found.backlog if full or found.backlog else found.chosen).append(entry)
    return found


def _landed(files: FileSystem, rules: LandingRules) -> Iterator[FileEntry]:
    """The files that the patterns name, each once."""
    seen = set()
    for pattern in rules.patterns:
        matches = files.glob(pattern)
        if not matches and not any(sign in pattern for sign in "*?[{"):
            raise LandingNotFound(
                expected=f"a landing folder or file {pattern}",
                found="that there is none",
                action="Correct `landing`, or create the folder. Only a glob may match nothing.",
            )
        for entry in matches:
            for file in _files_of(files, entry, rules.ignore_names):
                if file.path not in seen and not _is_marker(file.name, rules.done_marker):
                    seen.add(file.path)
                    yield file


def _files_of(files: FileSystem, entry: FileEntry, ignored: Sequence[str]) -> Iterator[FileEntry]:
    if any(fnmatch.fnmatchcase(entry.name, pattern) for pattern in ignored):
        return
    if not entry.is_directory:
        yield entry
        return
    for child in files.list(entry.path):
        yield from _files_of(files, child, ignored)


def _is_marker(name: str, marker: str) -> bool:
    return bool(marker) and fnmatch.fnmatchcase(name, marker)


def _has_content(files: FileSystem, rules: LandingRules, entry: FileEntry) -> bool:
    """Whether a file is at least as long as the shortest complete one."""
    return entry.size > 0 or (rules.takes_empty and not files.is_compressed(entry.path))


def _is_marked(files: FileSystem, marker: str, entry: FileEntry, known: dict[str, bool]) -> bool:
    if not marker:
        return True
    folder = entry.path.rpartition("/")[0]
    path = f"{folder}/{marker.replace('*', entry.name)}"
    if path not in known:
        known[path] = files.exists(path)
    return known[path]
