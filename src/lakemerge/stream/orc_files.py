"""ORC files written by Hive's own classes, without Spark."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

from py4j.protocol import Py4JJavaError

from lakemerge.errors import StorageError
from lakemerge.kernel import HiveColumn, Jvm

_FIELD, _ESCAPE, _NULL = "\x01", "\\", "\\N"


class OrcFile:
    """One file under way. Rows come as texts in the form of Hive's text tables."""

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
        """Add a row. Raises StorageError."""
        line = _FIELD.join(_NULL if text is None else _escaped(text) for text in texts)
        try:
            row = self._reader.deserialize(self._text(line))
            self._writer.write(self._orc.serialize(row, self._inspector))
        except Py4JJavaError as error:
            raise _failed("write to", self.path, error) from error
        self.rows += 1

    def close(self) -> None:
        """Finish the file. Raises StorageError."""
        try:
            self._writer.close(False)
        except Py4JJavaError as error:
            raise _failed("finish", self.path, error) from error
        self._closed = True

    def abandon(self) -> None:
        """Let go of a file that is going to be deleted; what is not written yet does not matter."""
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
