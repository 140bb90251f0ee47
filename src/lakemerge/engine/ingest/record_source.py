"""Landed files and quarantined records as temporary views, which macros turn into rows.

A view has one row per record: ``_lakemerge_raw`` (the line's bytes as a string) or ``_lakemerge_row`` (a struct of a
typed file's columns); and, each with ``_lakemerge_`` in front, ``file``, ``file_modified``, ``line``, ``batch``,
``ingested_at``, ``replays``; and ``unterminated`` if a group has marks.

**Lines are counted by tasks.** Spark gives no position of a line in its file. But a task that reads one split, and
nothing else, counts its rows in the order of the file, so each split is given a task of its own. In a file of several
splits, the lines of the earlier splits are counted first, and only if the line numbers are needed.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JJavaError

from lakemerge.engine.ingest.header_lines import Header, read_header
from lakemerge.engine.ingest.ingest_plan import IngestPlan, RecordGroup
from lakemerge.engine.ingest.record_types import typed_field
from lakemerge.engine.relations.file_frames import file_fact
from lakemerge.engine.spark.connectors import connector_missing
from lakemerge.engine.spark.small_frames import small_frame
from lakemerge.engine.spark.unreadable_files import typed_read_errors, unreadable_file
from lakemerge.engine.sql_text import literal
from lakemerge.errors import StorageError
from lakemerge.kernel import FileEntry, FileSystem, Jvm

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

_ROW_OF_TASK = "monotonically_increasing_id() & 8589934591"
# Where the lines of a file's splits begin, by Arrow's types.
_MARKS = {
    "_lakemerge_file": "string",
    "_lakemerge_block": "int64",
    "_lakemerge_before": "int64",
    "_lakemerge_last": "int64",
}
_SMALLEST_SPLIT = 4 * 2**20
_MANY = 8
# The errors that Java's decompression raises for an archive that is cut or damaged.
_CUT = ("EOFException", "ZipException", "IOException")


class RecordSource:
    """Makes views of what a run reads."""

    def __init__(self, spark: SparkSession, files: FileSystem, plan: IngestPlan, jvm: Jvm) -> None:
        self._spark = spark
        self._files = files
        self._plan = plan
        self._regex = jvm.java.java.util.regex
        self._options = plan.options
        self._now = datetime.datetime.now(datetime.timezone.utc).isoformat()

    def open(self, entries: Sequence[FileEntry], *, positions: bool) -> list[RecordGroup]:
        """Make the views of files.

        Args:
            positions: whether ``_lakemerge_line`` must be right in files that several tasks read.

        Raises:
            UnreadableFile: a typed file's schema cannot be read, or a file cannot be read to its end.
            ConnectorMissing: Spark cannot read the files' format.
        """
        if not self._options.is_typed_format:
            self._size_splits(entries)
            return [
                self._lines(number, header, group, positions)
                for number, (header, group) in enumerate(self._by_header(entries))
            ]
        self._size_splits(entries, whole=positions)
        by_schema: dict[str, tuple[StructType, list[FileEntry]]] = {}
        schemas = _each(entries, self._schema)
        for entry, schema in zip(entries, schemas, strict=True):
            by_schema.setdefault(schema.json(), (schema, []))[1].append(entry)
        return [
            self._typed(number, schema, group) for number, (schema, group) in enumerate(by_schema.values())
        ]

    def require_readable(self, entries: Sequence[FileEntry]) -> None:
        """Read each file and throw its records away. Raises UnreadableFile where one cannot be read to its end."""
        _each(entries, self._require_readable)

    def _require_readable(self, entry: FileEntry) -> None:
        frame = self._frame([entry]) if self._options.is_typed_format else self._text([entry])
        try:
            frame.write.format("noop").mode("overwrite").save()
        except Py4JJavaError as error:
            raise unreadable_file(entry.path, "to be readable to its end", error) from error

    def _size_splits(self, entries: Sequence[FileEntry], *, whole: bool = False) -> None:
        """Give each split its own task, and create as many tasks as the application can run at once."""
        conf = self._spark.conf
        said: Any = self._spark._jsparkSession.sessionState().conf()
        total = sum(entry.size for entry in entries)
        cores = self._spark.sparkContext.defaultParallelism
        # the setting that is made below must not limit the next reading in this session
        self._plan.most_bytes = most = self._plan.most_bytes or int(said.filesMaxPartitionBytes())
        size = max([_SMALLEST_SPLIT, *(entry.size for entry in entries)]) if whole else 0
        self._split = size or min(most, max(min(most, _SMALLEST_SPLIT), -(-total // cores)))
        conf.set("spark.sql.files.maxPartitionBytes", f"{self._split}b")
        # so every file fills its task's share, and no other file joins it
        conf.set("spark.sql.files.openCostInBytes", f"{self._split}b")
        conf.unset("spark.sql.files.maxPartitionNum")
        splits = sum(-(-entry.size // self._split) for entry in entries)
        self._plan.tasks = max(1, min(splits, max(cores, -(-total // most))))

    # -- lines ---------------------------------------------------------------------------------

    def _by_header(self, entries: Sequence[FileEntry]) -> Iterable[tuple[Header, list[FileEntry]]]:
        """The files grouped by the fields that their first lines name; one group if they name none."""
        if not self._options.header:
            return [(Header(self._plan.file_fields), list(entries))]
        by_header: dict[Header, list[FileEntry]] = {}
        for entry, header in zip(entries, _each(entries, self._header), strict=True):
            by_header.setdefault(header, []).append(entry)
        return by_header.items()

    def _header(self, entry: FileEntry) -> Header:
        try:
            line = self._files.first_line(entry.path, self._options.line_delimiter.encode())
        except StorageError as error:
            if not self._files.is_compressed(entry.path) or not error.found.startswith(_CUT):
                raise
            raise unreadable_file(
                entry.path, "to be readable to its end", error.__cause__ or error
            ) from error
        return read_header(line, self._options, self._plan.file_fields, self._regex)

    def _lines(
        self, number: int, header: Header, entries: Sequence[FileEntry], positions: bool
    ) -> RecordGroup:
        view = f"lakemerge_lines_{number}"
        marks = self._marks(entries, positions)
        frame = self._text(entries).selectExpr(
            "value",
            "_metadata.file_path as _lakemerge_file",
            "_metadata.file_modification_time as _lakemerge_file_modified",
            "_metadata.file_block_start as _lakemerge_block",
            f"{_ROW_OF_TASK} as _lakemerge_index",
        )
        if marks:
            from pyspark.sql.functions import broadcast

            frame = frame.join(
                broadcast(small_frame(self._spark, marks, _MARKS)),
                ["_lakemerge_file", "_lakemerge_block"],
                "left",
            )
        else:
            frame = frame.selectExpr("*", "0L as _lakemerge_before", "-1L as _lakemerge_last")
        if self._options.header:
            frame = frame.where("not (_lakemerge_block = 0 and _lakemerge_index = 0)")
        if self._options.skip_empty_lines:
            frame = frame.where("trim(value) not in ('', '\\r')")
        frame = frame.selectExpr(
            f"{self._raw_sql} as _lakemerge_raw",
            "_lakemerge_file",
            "_lakemerge_file_modified",
            "_lakemerge_index + 1 + coalesce(_lakemerge_before, 0) as _lakemerge_line",
            "_lakemerge_index <=> _lakemerge_last as _lakemerge_unterminated",
            *self._constants,
        )
        frame.createOrReplaceTempView(view)
        return RecordGroup(
            view=view,
            format=self._options.format,
            fields=header.fields,
            options=self._options,
            columns=self._plan.columns,
            named=self._options.header,
            problems=self._named_problems(header.fields, header.problem) if self._options.header else (),
            has_marks=bool(marks),
        )

    @property
    def _constants(self) -> list[str]:
        return [
            f"{self._plan.batch}L as _lakemerge_batch",
            f"timestamp '{self._now}' as _lakemerge_ingested_at",
            "0 as _lakemerge_replays",
        ]

    @property
    def _raw_sql(self) -> str:
        """A line without the carriage return before its line feed; byte by byte, because it may not be text."""
        if self._options.line_delimiter != "\n":
            return "value"
        shorter = "cast(substr(cast(value as binary), 1, octet_length(value) - 1) as string)"
        return f"if(endswith(value, '\\r'), {shorter}, value)"

    def _text(self, entries: Sequence[FileEntry]) -> DataFrame:
        reader = self._spark.read.option("lineSep", self._options.line_delimiter)
        return reader.option("recursiveFileLookup", "true").text([_verbatim(entry.path) for entry in entries])

    def _marks(self, entries: Sequence[FileEntry], positions: bool) -> list[tuple[str, int, int, int]]:
        """For files that are cut into splits or end without a line delimiter, what a view needs to know of each split.

        Returns:
            File, split, the number of lines before the split, and the index in the split of the record that ends the
            file without a line delimiter, -1 for none.
        """
        open_ended = self._open_ended(entries)
        cut = {entry.path for entry in entries if positions and entry.size > self._split}
        marked = [entry for entry in entries if entry.path in cut | open_ended]
        if not marked:
            return []
        places = self._text(marked).selectExpr(
            "_metadata.file_path as file", "_metadata.file_block_start as block"
        )
        with typed_read_errors():
            counted = places.groupBy("file", "block").count().collect()
        marks: list[tuple[str, int, int, int]] = []
        before: dict[str, int] = {}
        ends = {row["file"]: row["block"] for row in sorted(counted, key=lambda row: int(row["block"]))}
        for row in sorted(counted, key=lambda row: int(row["block"])):
            path, lines = row["file"], int(row["count"])
            last = lines - 1 if path in open_ended and ends[path] == row["block"] else -1
            marks.append((path, int(row["block"]), before.get(path, 0), last))
            before[path] = before.get(path, 0) + lines
        return marks

    def _open_ended(self, entries: Sequence[FileEntry]) -> set[str]:
        """The files that do not end with a line delimiter. Compressed files rely on their own check."""
        if not self._plan.rejects_unterminated or self._options.format == "json":
            return set()
        delimiter = self._options.line_delimiter.encode()

        def ends(entry: FileEntry) -> bool:
            if not entry.size or self._files.is_compressed(entry.path):
                return True
            return self._files.last_bytes(entry.path, entry.size, len(delimiter)) == delimiter

        return {entry.path for entry, ended in zip(entries, _each(entries, ends), strict=True) if not ended}

    def _named_problems(self, fields: Sequence[str], problem: str = "") -> tuple[tuple[str, str], ...]:
        """The problems of the fields that a file names.

        Args:
            problem: why it names none, if known.
        """
        if not fields:
            return (("bad_header", problem or "the file's first line names no fields"),)
        declared = self._plan.file_fields
        missing = [name for name in declared if name not in fields]
        extra = [name for name in fields if name not in declared]
        if len(missing) == len(declared):
            return (
                ("bad_header", f"no column is among the fields that the file names: {', '.join(fields)}"),
            )
        problems = []
        twice = {name for name in fields if name in declared and fields.count(name) > 1}
        if twice:
            problems.append(("duplicate_field", f"the file names {', '.join(fields)}"))
        if missing and self._options.missing_fields == "reject":
            problems.append(("missing_field", f"the file has no {', '.join(missing)}"))
        if extra and self._options.extra_fields == "reject":
            problems.append(("extra_field", f"not declared: {', '.join(extra)}"))
        return tuple(problems)

    # -- files with types ----------------------------------------------------------------------

    def _schema(self, entry: FileEntry) -> StructType:
        from pyspark.errors import PySparkException

        try:
            return self._frame([entry]).schema
        except (PySparkException, Py4JJavaError) as error:
            if "Failed to find data source" in str(error):
                raise connector_missing(self._spark, "package for Avro", "spark-avro") from error
            expected = f"to be a file of format {self._options.format}"
            raise unreadable_file(entry.path, expected, error) from error

    def _frame(self, entries: Sequence[FileEntry]) -> DataFrame:
        reader = self._spark.read.format(self._options.format).option("recursiveFileLookup", "true")
        return reader.load([_verbatim(entry.path) for entry in entries])

    def _typed(self, number: int, schema: StructType, entries: Sequence[FileEntry]) -> RecordGroup:
        from pyspark.sql import functions

        view = f"lakemerge_lines_{number}"
        frame = self._frame(entries)
        others = (f"({_ROW_OF_TASK}) + 1 as _lakemerge_line", *self._constants)
        frame.select(
            functions.expr("struct(*)").alias("_lakemerge_row"),
            file_fact(frame, "file_path").alias("_lakemerge_file"),
            file_fact(frame, "file_modification_time").alias("_lakemerge_file_modified"),
            *map(functions.expr, others),
        ).createOrReplaceTempView(view)
        declared = {column.field.lower(): column for column in self._plan.columns if not column.constant}
        names = [field.name for field in schema.fields]
        fields = tuple(declared[name.lower()].field if name.lower() in declared else name for name in names)
        typed, wrong = {}, []
        for column in declared.values():
            found = typed_field(column, schema)
            if found:
                typed[column.name] = found
            elif column.field in fields:
                kind = schema.fields[fields.index(column.field)].dataType.simpleString()
                wrong.append(("wrong_type", f"{column.name}: expected {column.declared}, found {kind}"))
        return RecordGroup(
            view=view,
            format=self._options.format,
            fields=fields,
            options=self._options,
            columns=self._plan.columns,
            named=True,
            typed=typed,
            problems=(*self._named_problems(fields), *wrong),
        )

    # -- quarantine ----------------------------------------------------------------------------

    def open_quarantined(self, frame: DataFrame) -> list[RecordGroup]:
        """Make views of quarantined records, to be read again by today's options.

        Args:
            frame: rows of the quarantine.
        """
        self._plan.tasks = self._spark.sparkContext.defaultParallelism
        format_ = "json" if self._options.is_typed_format else self._options.format
        named = self._options.header and format_ == "delimited"
        headers: list[Any] = [None]
        if named:
            headers = [row["fields"] for row in frame.select("fields").distinct().collect()]
        groups = []
        for number, header in enumerate(headers):
            view = f"lakemerge_lines_{number}"
            fields = self._plan.file_fields if header is None else tuple(header)
            same = f"fields <=> {_array_sql(header)}" if named else "true"
            frame.where(same).selectExpr(
                "if(record_bytes is null, record, cast(record_bytes as string)) as _lakemerge_raw",
                "file as _lakemerge_file",
                "file_modified as _lakemerge_file_modified",
                "line as _lakemerge_line",
                "batch as _lakemerge_batch",
                "quarantined_at as _lakemerge_ingested_at",
                "replays + 1 as _lakemerge_replays",
                "array_contains(transform(problems, problem -> problem.reason), 'truncated_record') "
                "as _lakemerge_unterminated",
            ).createOrReplaceTempView(view)
            groups.append(
                RecordGroup(
                    view=view,
                    format=format_,
                    fields=fields,
                    options=self._options,
                    columns=self._plan.columns,
                    named=header is not None,
                    problems=() if header is None else self._named_problems(fields),
                    has_marks=format_ in ("delimited", "regex"),
                    has_nulls=self._options.topics is not None,
                )
            )
        return groups


def _array_sql(names: Sequence[str] | None) -> str:
    if names is None:
        return "cast(null as array<string>)"
    return f"array({', '.join(literal(name) for name in names)})"


def _each(entries: Sequence[FileEntry], look: Callable[[FileEntry], Any]) -> list[Any]:
    """Look at many files in parallel, because remote storage takes a long time for each."""
    if len(entries) < _MANY:
        return [look(entry) for entry in entries]
    with ThreadPoolExecutor(_MANY) as pool:
        return list(pool.map(look, entries))


def _verbatim(path: str) -> str:
    """A path in which Spark finds no wildcard."""
    return re.sub(r"([\[\]{}*?\\])", r"\\\1", path)
