"""Files through Hadoop's ``FileSystem``, so that HDFS and object stores work as local files do."""

from __future__ import annotations

import builtins
import re
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from py4j.protocol import Py4JNetworkError

from lakemerge.errors import StorageError
from lakemerge.kernel.filesystem import FileEntry, FileSystem
from lakemerge.kernel.jvm.gateway import JAVA_ERRORS, Jvm, java_exception

T = TypeVar("T")

_CHUNK = 4096
_STATUS = re.compile(
    r"FileStatus\{path=(?P<path>[^;]*); isDirectory=(?P<directory>true|false);"
    r"(?: length=(?P<length>\d+);[^{}]*?)? modification_time=(?P<modified>\d+);"
)


class HadoopFileSystem(FileSystem):
    """The port :class:`~lakemerge.kernel.filesystem.FileSystem`."""

    def __init__(self, jvm: Jvm) -> None:
        self.jvm = jvm
        self._roots: dict[str, Any] = {}
        self._lock = threading.Lock()

    def _invoke(self, call: str, path: str, action: Callable[[Any, Any], T]) -> T:
        """Run one call on the path's file system. Tests override this to fail calls."""
        try:
            java_path = self.jvm.java.org.apache.hadoop.fs.Path(path)
            return action(self._of(path, java_path), java_path)
        except JAVA_ERRORS as error:
            kind, text = java_exception(error)
            if kind == "FileNotFoundException":
                raise FileNotFoundError(path) from error
            raise StorageError(
                expected=f"to {call} {path}",
                found=f"{kind}: {text}",
                action="Check the path, its permissions and the space left, and run again.",
            ) from error
        except Py4JNetworkError as error:
            raise StorageError(
                expected=f"to {call} {path}",
                found=f"that Java has ended: {error}",
                action="See its log for why, and run again.",
            ) from error

    def _of(self, path: str, java_path: Any) -> Any:
        scheme, found, rest = path.partition("://")
        root = f"{scheme}://{rest.partition('/')[0]}" if found else path.partition(":")[0]
        with self._lock:
            if root not in self._roots:
                self._roots[root] = java_path.getFileSystem(self.jvm.hadoop_conf)
            return self._roots[root]

    # -- reading -------------------------------------------------------------------------------

    def qualify(self, path: str) -> str:
        return self._invoke("qualify", path, lambda system, where: str(system.makeQualified(where)))

    def exists(self, path: str) -> bool:
        return self._invoke("look for", path, lambda system, where: bool(system.exists(where)))

    def list(self, path: str) -> list[FileEntry]:
        try:
            return self._invoke("list", path, lambda system, where: self._entries(system.listStatus(where)))
        except FileNotFoundError:
            return []

    def glob(self, pattern: str) -> builtins.list[FileEntry]:
        return self._invoke(
            "look for",
            pattern,
            lambda system, where: self._entries(found) if (found := system.globStatus(where)) else [],
        )

    def _entries(self, statuses: Any) -> builtins.list[FileEntry]:
        """The entries of a Java array of ``FileStatus``.

        Their common text is read where it has the form that it has in Hadoop 3: one round trip for a directory
        instead of six for each file in it. Any other form is noticed, and then they are asked one by one.
        """
        count = len(statuses)
        text = str(self.jvm.java.org.apache.commons.lang3.ArrayUtils.toString(statuses))
        matches = list(_STATUS.finditer(text))
        if len(matches) != count or text.count("modification_time=") != count:
            return [_entry(status) for status in statuses]
        return [
            FileEntry(
                path=match["path"],
                name=match["path"].rpartition("/")[2],
                size=int(match["length"] or 0),
                modified=int(match["modified"]),
                is_directory=match["directory"] == "true",
            )
            for match in matches
        ]

    def read_text(self, path: str) -> str:
        def read(system: Any, where: Any) -> str:
            stream = system.open(where)
            try:
                utf8 = self.jvm.java.java.nio.charset.StandardCharsets.UTF_8
                return str(self.jvm.java.org.apache.commons.io.IOUtils.toString(stream, utf8))
            finally:
                stream.close()

        return self._invoke("read", path, read)

    def first_line(self, path: str, delimiter: bytes = b"\n") -> bytes:
        def read(system: Any, where: Any) -> bytes:
            stream = self._decompressed(system.open(where), where)
            try:
                return _until(delimiter, lambda: bytes(stream.readNBytes(_CHUNK)))
            finally:
                stream.close()

        return self._invoke("read", path, read)

    def last_bytes(self, path: str, size: int, count: int) -> bytes:
        def read(system: Any, where: Any) -> bytes:
            stream = system.open(where)
            try:
                stream.seek(max(0, size - count))
                return bytes(stream.readNBytes(count))
            finally:
                stream.close()

        return self._invoke("read", path, read)

    def is_compressed(self, path: str) -> bool:
        return self._invoke("look at", path, lambda _, where: self._codec(where) is not None)

    def _codec(self, where: Any) -> Any:
        factory = self.jvm.java.org.apache.hadoop.io.compress.CompressionCodecFactory(self.jvm.hadoop_conf)
        return factory.getCodec(where)

    def _decompressed(self, stream: Any, where: Any) -> Any:
        codec = self._codec(where)
        return stream if codec is None else codec.createInputStream(stream)

    # -- writing -------------------------------------------------------------------------------

    def write_text(self, path: str, text: str) -> None:
        def write(system: Any, where: Any) -> None:
            stream = system.create(where, True)
            try:
                stream.write(text.encode())
            finally:
                stream.close()

        self._invoke("write", path, write)

    def make_directory(self, path: str) -> None:
        self._invoke("make", path, lambda system, where: system.mkdirs(where))

    def delete(self, path: str) -> None:
        self._invoke("delete", path, lambda system, where: system.delete(where, True))

    def copy(self, source: str, target: str) -> None:
        def run(system: Any, where: Any) -> None:
            target_path = self.jvm.java.org.apache.hadoop.fs.Path(target)
            self.jvm.java.org.apache.hadoop.fs.FileUtil.copy(
                system, where, self._of(target, target_path), target_path, False, self.jvm.hadoop_conf
            )

        self._invoke("copy", source, run)


def _until(delimiter: bytes, read: Callable[[], bytes]) -> bytes:
    found = b""
    while delimiter not in found and (chunk := read()):
        found += chunk
    return found.partition(delimiter)[0]


def _entry(status: Any) -> FileEntry:
    path = status.getPath()
    return FileEntry(
        path=str(path),
        name=str(path.getName()),
        size=int(status.getLen()),
        modified=int(status.getModificationTime()),
        is_directory=bool(status.isDirectory()),
    )
