"""ORC files written by Hive's and ORC's own classes, without Spark."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

from py4j.protocol import Py4JJavaError

from lakemerge.errors import StorageError
from lakemerge.kernel.jvm.gateway import Jvm
from lakemerge.kernel.ports.metastore import HiveColumn
from lakemerge.kernel.ports.row_files import RowFile, RowFiles

_FIELD, _ESCAPE, _NULL = "\x01", "\\", "\\N"


class OrcFiles(RowFiles):
    """The port :class:`~lakemerge.kernel.ports.row_files.RowFiles`."""

    def __init__(self, jvm: Jvm) -> None:
        self._jvm = jvm

    def create(self, path: str, columns: Sequence[HiveColumn]) -> RowFile:
        return OrcFile(self._jvm, path, columns)

    def concatenate(self, paths: Sequence[str], target: str) -> list[str]:
        java = self._jvm.java
        sources = java.java.util.ArrayList()
        for path in paths:
            sources.add(java.org.apache.hadoop.fs.Path(path))
        orc = java.org.apache.orc.OrcFile
        try:
            options = orc.writerOptions(self._jvm.hadoop_conf)
            merged = orc.mergeFiles(java.org.apache.hadoop.fs.Path(target), options, sources)
        except Py4JJavaError as error:
            raise StorageError(
                expected=f"to copy {len(paths)} files together to {target}",
                found=str(error.java_exception.toString()),
                action="Look at these files with `orc-tools meta`.",
            ) from error
        done = {str(path) for path in merged}
        return [path for path, source in zip(paths, sources, strict=True) if str(source) not in done]


class OrcFile(RowFile):
    """See the port."""

    def __init__(self, jvm: Jvm, path: str, columns: Sequence[HiveColumn]) -> None:
        java = jvm.java
        hive = java.org.apache.hadoop.hive
        conf = java.org.apache.hadoop.mapred.JobConf(jvm.hadoop_conf)
        properties = java.java.util.Properties()
        for key, value in {
            "columns": ",".join(column.name for column in columns),
            "columns.types": ":".join(column.type for column in columns),
            "field.delim": _FIELD,
            "escape.delim": _ESCAPE,
            "orc.compress": "ZLIB",
        }.items():
            properties.setProperty(key, value)
        self._text = java.org.apache.hadoop.io.Text
        self._reader = hive.serde2.lazy.LazySimpleSerDe()
        self._reader.initialize(conf, properties)
        self._inspector = self._reader.getObjectInspector()
        self._orc = hive.ql.io.orc.OrcSerde()
        self._orc.initialize(conf, properties)
        self.path = path
        self.rows = 0
        self._closed = False
        java_path = java.org.apache.hadoop.fs.Path(path)
        reporter = java.org.apache.hadoop.mapred.Reporter.NULL
        value_class = java.java.lang.Class.forName("org.apache.hadoop.io.Writable")
        self._writer: Any = hive.ql.io.orc.OrcOutputFormat().getHiveRecordWriter(
            conf, java_path, value_class, True, properties, reporter
        )

    def write(self, texts: Sequence[str | None]) -> None:
        line = _FIELD.join(_NULL if text is None else _escaped(text) for text in texts)
        try:
            row = self._reader.deserialize(self._text(line))
            self._writer.write(self._orc.serialize(row, self._inspector))
        except Py4JJavaError as error:
            raise _failed("write to", self.path, error) from error
        self.rows += 1

    def close(self) -> None:
        try:
            self._writer.close(False)
        except Py4JJavaError as error:
            raise _failed("finish", self.path, error) from error
        self._closed = True

    def abandon(self) -> None:
        if not self._closed:
            with contextlib.suppress(Py4JJavaError):
                self._writer.close(True)
            self._closed = True


def _escaped(text: str) -> str:
    return text.replace(_ESCAPE, _ESCAPE * 2).replace(_FIELD, _ESCAPE + _FIELD)


def _failed(call: str, path: str, error: Py4JJavaError) -> StorageError:
    return StorageError(
        expected=f"to {call} {path}",
        found=str(error.java_exception.toString()),
        action="Check the space left and the permissions, and write the transaction again.",
    )
