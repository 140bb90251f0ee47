"""Files through Hadoop's ``FileSystem``, so that HDFS and object stores work as local files do."""

from __future__ import annotations

import builtins
import contextlib
import re
import threading
import uuid
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from enum import Enum
from functools import cached_property
from typing import Any, TypeVar

import tenacity
from py4j.java_gateway import is_instance_of

from lakemerge.errors import StorageError, StorageUnreachable
from lakemerge.kernel.jvm.gateway import JAVA_ERRORS, LOST_CALL, Jvm, call_java, java_exception
from lakemerge.kernel.ports.filesystem import FileEntry, FileSystem
from lakemerge.kernel.table.layout import normal

T = TypeVar("T")

_CHUNK = 4096
# The most threads that list directories, and for how many directories there is one more thread.
_LISTERS, _LEAST_LISTED = 16, 8
# Object stores where a file appears when it is closed, and a rename is a copy.
_WHOLE_AT_CLOSE = frozenset({"s3", "s3a", "s3n", "gs", "oss", "cosn"})
_STATUS = re.compile(
    r"FileStatus\{path=(?P<path>[^;]*); isDirectory=(?P<directory>true|false);"
    r"(?: length=(?P<length>\d+);[^{}]*?)? modification_time=(?P<modified>\d+);"
)


# While a NameNode is replaced, or starts and is in safe mode, calls are made again for so long: those that have reached
# no server which could carry them out, and reads whose connection was lost.
_MOST_SECONDS = 30
_SAFE_MODE = "in safe mode"
_NOT_REACHED = frozenset({"ConnectException", "NoRouteToHostException", "StandbyException"})
_LOST = frozenset({"SocketException", "SocketTimeoutException"})
_READS = frozenset({"qualify", "look for", "list", "read"})


class _Replacing(Enum):
    """How a file system replaces one file by another: what readers, or a killed process, meet in between."""

    IN_PLACE = "files appear when they are closed"
    LOCAL = "by a rename of the operating system, in one step"
    HDFS = "by a rename, in one step"
    NEVER = "not in one step: new names are renamed to, and what is there is written over"


class HadoopFileSystem(FileSystem):
    """The port :class:`~lakemerge.kernel.ports.filesystem.FileSystem`."""

    def __init__(self, jvm: Jvm) -> None:
        self.jvm = jvm
        self._roots: dict[str, Any] = {}
        self._found: dict[int, _Replacing] = {}
        self._lock = threading.Lock()

    def _invoke(self, call: str, path: str, action: Callable[[Any, Any], T]) -> T:
        """Run one call on the path's file system. Tests override this to fail calls."""
        try:
            repeated = _NOT_REACHED | _LOST if call in _READS else _NOT_REACHED
            return _until_reached(
                lambda: action(self._of(path, java_path := self._path(path)), java_path), repeated
            )
        except JAVA_ERRORS as error:
            kind, text = java_exception(error)
            if kind == "FileNotFoundException" and self._is_gone(call, path):
                raise FileNotFoundError(path) from error
            raise StorageError(
                expected=f"to {call} {path}",
                found=f"{kind}: {text}",
                action="Check the path, its permissions and the space left, and run again.",
            ) from error
        except LOST_CALL as error:
            raise StorageUnreachable(
                expected=f"the file system to answer `{call}` for {path}",
                found=f"that Java has ended: {error}",
                action="See its log for why, and run again.",
            ) from error

    def _is_gone(self, call: str, path: str) -> bool:
        """Whether a call failed because there is no such file.

        Java gives the same error for a file that it may not open, or has no handle for. Whoever took a heartbeat or a
        manifest for gone then would take a living writer for dead, or a version for vacuumed.
        """
        if call in ("read", "copy"):
            return not self.exists(path)
        return call != "write"

    def _path(self, path: str) -> Any:
        return self.jvm.java.org.apache.hadoop.fs.Path(path)

    def _of(self, path: str, java_path: Any) -> Any:
        root = _root_of(path)
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
            return self._invoke(
                "list", path, lambda system, where: self._entries(call_java(system.listStatus, where))
            )
        except FileNotFoundError:
            return []

    def list_all(self, paths: Sequence[str]) -> builtins.list[builtins.list[FileEntry]]:
        """Listed by several threads, each of which makes one call of Java for its part.

        Object stores take long to answer, so they are asked in parallel. On a disk a call to Java takes longer than the
        listing, so one call lists many directories.
        """
        threads = min(_LISTERS, -(-len(paths) // _LEAST_LISTED))
        if threads < 2:
            return self._list_together(paths)
        parts = self._pool.map(self._list_together, [paths[number::threads] for number in range(threads)])
        found = list(parts)
        return [found[number % threads][number // threads] for number in range(len(paths))]

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(_LISTERS, thread_name_prefix="lakemerge-list")

    def _list_together(self, paths: Sequence[str]) -> builtins.list[builtins.list[FileEntry]]:
        """List directories by one call; if it fails, one by one, so that each is missing or refused by its own name."""
        wanted = {normal(path): path for path in paths}
        if len(wanted) > 1 and len({_root_of(path) for path in paths}) == 1:
            try:
                entries = self._invoke(
                    "list", paths[0], lambda system, _: self._of_many(system, [*wanted.values()])
                )
            except StorageUnreachable:
                raise
            except (FileNotFoundError, StorageError):
                return [self.list(path) for path in paths]
            found: dict[str, list[FileEntry]] = {path: [] for path in wanted}
            for entry in entries:
                found.setdefault(normal(entry.path.rpartition("/")[0]), []).append(entry)
            # the path of a file gives an entry in its folder, which may or may not have been asked for
            of_files = any(normal(entry.path) in wanted and not entry.is_directory for entry in entries)
            if found.keys() == wanted.keys() and not of_files:
                return [found[normal(path)] for path in paths]
        return [self.list(path) for path in paths]

    def _of_many(self, system: Any, paths: Sequence[str]) -> builtins.list[FileEntry]:
        # filling an array takes a round trip for each item; splitting one text in Java takes none
        texts = self.jvm.java.java.util.regex.Pattern.compile("\0").split("\0".join(paths))
        where = self.jvm.java.org.apache.hadoop.util.StringUtils.stringToPath(texts)
        return self._entries(call_java(system.listStatus, where))

    def glob(self, pattern: str) -> builtins.list[FileEntry]:
        return self._invoke(
            "look for",
            pattern,
            lambda system, where: self._entries(found) if (found := system.globStatus(where)) else [],
        )

    def _entries(self, statuses: Any) -> builtins.list[FileEntry]:
        """The entries of a Java array of ``FileStatus``.

        The text of the whole array is parsed if it has the form of Hadoop 3: this takes one round trip for a directory
        instead of six for each file in it. Any other form is noticed, and then the statuses are asked one by one.
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
            stream = call_java(system.open, where)
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
        data = text.encode()
        folder, _, name = path.rpartition("/")
        hidden = f"{folder}/.{name}.{uuid.uuid4().hex}"

        def write(system: Any, where: Any) -> bool:
            replacing = self._replacing(system)
            apart = replacing is not _Replacing.IN_PLACE and (
                replacing is not _Replacing.NEVER or not system.exists(where)
            )
            # a local file system's checksums are files of their own, which cannot be replaced together with the data
            writer = system.getRawFileSystem() if replacing is _Replacing.LOCAL else system
            stream = writer.create(self._path(hidden) if apart else where, True)
            try:
                stream.write(data)
            finally:
                stream.close()
            return apart

        try:
            if self._invoke("write", path, write):
                self._invoke(
                    "rename", path, lambda system, where: self._rename(system, self._path(hidden), where)
                )
        except StorageError:
            with contextlib.suppress(StorageError):  # one left behind is hidden, and vacuum deletes it
                self._invoke("delete", hidden, lambda system, where: system.delete(where, False))
            raise

    def _replacing(self, system: Any) -> _Replacing:
        """How a file system replaces files, found out once."""
        if id(system) not in self._found:
            gateway, fs = self.jvm.gateway, "org.apache.hadoop"
            if str(system.getUri().getScheme()) in _WHOLE_AT_CLOSE:
                found = _Replacing.IN_PLACE
            elif is_instance_of(gateway, system, f"{fs}.fs.ChecksumFileSystem"):
                found = _Replacing.LOCAL
            elif is_instance_of(gateway, system, f"{fs}.hdfs.DistributedFileSystem"):
                found = _Replacing.HDFS
            else:
                found = _Replacing.NEVER
            self._found[id(system)] = found
        return self._found[id(system)]

    def _rename(self, system: Any, source: Any, target: Any) -> None:
        replacing, array, java = self._replacing(system), self.jvm.gateway.new_array, self.jvm.java
        if replacing is _Replacing.LOCAL:
            bare = system.getRawFileSystem()
            bare.delete(system.getChecksumFile(target), False)  # if another program has written the file
            options = array(java.java.nio.file.CopyOption, 1)
            options[0] = java.java.nio.file.StandardCopyOption.ATOMIC_MOVE
            # Hadoop's own rename copies where the system refuses
            paths = (bare.pathToFile(path).toPath() for path in (source, target))
            java.java.nio.file.Files.move(*paths, options)
        elif replacing is _Replacing.HDFS:
            rename = getattr(java.org.apache.hadoop.fs, "Options$Rename")
            options = array(rename, 1)
            options[0] = rename.OVERWRITE
            system.rename(source, target, options)
        elif not system.rename(source, target):
            raise _no_rename(source, target)

    def make_directory(self, path: str) -> None:
        def make(system: Any, where: Any) -> bool:
            if system.mkdirs(where):
                return True
            if self._replacing(system) is not _Replacing.LOCAL:
                return False
            # Hadoop's local file system does not say why it refuses; Java does
            attributes = self.jvm.gateway.new_array(self.jvm.java.java.nio.file.attribute.FileAttribute, 0)
            folder = system.getRawFileSystem().pathToFile(where).toPath()
            self.jvm.java.java.nio.file.Files.createDirectories(folder, attributes)
            return True

        if not self._invoke("make", path, make):
            raise _refused("make", path)

    def delete(self, path: str) -> None:
        self._remove("delete", path, True)

    def _remove(self, call: str, path: str, recursive: bool) -> None:
        # the local file system says no without an error
        def is_gone(system: Any, where: Any) -> bool:
            return bool(system.delete(where, recursive)) or not system.exists(where)

        if not self._invoke(call, path, is_gone):
            raise _refused(call, path)

    def delete_if_empty(self, path: str) -> bool:
        try:
            self._remove("remove", path, False)
        except StorageError:
            if self.list(path):
                return False
            raise
        return True

    def copy(self, source: str, target: str) -> None:
        def run(system: Any, where: Any) -> None:
            target_path = self._path(target)
            self.jvm.java.org.apache.hadoop.fs.FileUtil.copy(
                system, where, self._of(target, target_path), target_path, False, self.jvm.hadoop_conf
            )

        self._invoke("copy", source, run)

    def move(self, source: str, target: str) -> None:
        def run(system: Any, where: Any) -> None:
            target_path = self.jvm.java.org.apache.hadoop.fs.Path(target)
            # without this look, some file systems would make the folder, or put the file in its place
            if not system.getFileStatus(target_path.getParent()).isDirectory():
                raise _no_rename(source, target)
            if not system.rename(where, target_path):
                raise _no_rename(source, target)

        try:
            self._invoke("rename", source, run)
        except FileNotFoundError as error:
            raise _no_rename(source, target) from error


def _root_of(path: str) -> str:
    """The part of a URI that identifies its file system."""
    scheme, found, rest = path.partition("://")
    return f"{scheme}://{rest.partition('/')[0]}" if found else path.partition(":")[0]


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


def _no_rename(source: Any, target: Any) -> StorageError:
    return _refused("rename", f"{source} to {target}")


def _refused(call: str, path: str) -> StorageError:
    return StorageError(
        expected=f"to {call} {path}",
        found="that the file system refused",
        action="Check the path, its permissions and the space left, and run again.",
    )


def _until_reached(action: Callable[[], T], repeated: Collection[str]) -> T:
    """Make a call, again if it ends by one of these exceptions of Java, or meets safe mode."""

    def is_to_repeat(error: BaseException) -> bool:
        if not isinstance(error, JAVA_ERRORS):
            return False
        kind, text = java_exception(error)
        return kind in repeated or _SAFE_MODE in text

    retrying = tenacity.Retrying(
        retry=tenacity.retry_if_exception(is_to_repeat),
        stop=tenacity.stop_after_delay(_MOST_SECONDS),
        wait=tenacity.wait_random_exponential(multiplier=0.2, max=3),
        reraise=True,
    )
    return retrying(action)
