"""Files of rows in memory: a line a row, in the form of Hive's text tables."""

from __future__ import annotations

from collections.abc import Sequence

from lakemerge.kernel.ports import FileSystem, HiveColumn, RowFile, RowFiles

_FIELD, _NULL = "\x01", "\\N"


class MemoryRowFiles(RowFiles):
    """Texts in the place of ORC files, below any file system."""

    def __init__(self, files: FileSystem) -> None:
        self._files = files

    def create(self, path: str, columns: Sequence[HiveColumn]) -> RowFile:
        return _TextFile(self._files, path)

    def concatenate(self, paths: Sequence[str], target: str) -> list[str]:
        self._files.write_text(target, "".join(self._files.read_text(path) for path in paths))
        return []


class _TextFile(RowFile):
    def __init__(self, files: FileSystem, path: str) -> None:
        self._files = files
        self._path = path
        self._lines: list[str] = []
        self.rows = 0

    def write(self, texts: Sequence[str | None]) -> None:
        self._lines.append(_FIELD.join(_NULL if text is None else text for text in texts) + "\n")
        self.rows += 1

    def close(self) -> None:
        self._files.write_text(self._path, "".join(self._lines))

    def abandon(self) -> None:
        self._lines.clear()
