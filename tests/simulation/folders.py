"""Times of directories: the files of a world have none, those of disks and object stores do."""

from __future__ import annotations

from lakemerge.kernel.ports import FileEntry
from lakemerge.testing import MemoryFiles, Timeline

#: Without a time; as disks and HDFS have them, the last change of what is in it; as S3A says, the present moment.
TIMES = ("none", "disk", "now")


class TimedFiles(MemoryFiles):
    """Files whose directories have times.

    Attributes:
        times: which of :data:`TIMES`.
    """

    def __init__(self, timeline: Timeline, times: str) -> None:
        super().__init__(timeline)
        self.times = times
        self._changed: dict[str, int] = {}

    def _entry(self, path: str, file: object) -> FileEntry:
        entry = super()._entry(path, file)  # type: ignore[arg-type]
        if file is not None or self.times == "none":
            return entry
        modified = self._timeline.milliseconds if self.times == "now" else self._changed.get(path, 0)
        return FileEntry(entry.path, entry.name, 0, modified, is_directory=True)

    def _note(self, path: str) -> None:
        self._changed[path] = self._timeline.milliseconds

    def _write(self, path: str, content: bytes) -> None:
        super()._write(path, content)
        self._note(path.rpartition("/")[0])

    def _make(self, path: str) -> None:
        if path not in self._folders:
            super()._make(path)
            self._note(path)
            self._note(path.rpartition("/")[0])

    def delete(self, path: str) -> None:
        super().delete(path)
        self._note(self.qualify(path).rpartition("/")[0])

    def move(self, source: str, target: str) -> None:
        super().move(source, target)
        for path in (source, target):
            self._note(self.qualify(path).rpartition("/")[0])
