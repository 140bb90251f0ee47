"""What a model's config says about landed files or topics, and their records, checked before anything runs."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from lakemerge.engine.ingest.held_times import HeldTimes
from lakemerge.engine.ingest.topic_options import OF_FILES, topic_rules
from lakemerge.engine.options.reader import OptionReader
from lakemerge.engine.spark.releases import is_spark_3
from lakemerge.engine.sql_text import literal
from lakemerge.ingest.landing import UNFINISHED, LandingRules
from lakemerge.ingest.topics import TopicRules

#: Formats whose records are lines of text.
TEXT_FORMATS = ("delimited", "json", "regex")
#: What may be recorded of each record, as columns of the table: their types, and SQL of their values.
RECORD_COLUMNS = {
    "_file": ("string", "_lakemerge_file"),
    "_file_modified": ("timestamp", "_lakemerge_file_modified"),
    "_line": ("bigint", "_lakemerge_line"),
    "_batch": ("bigint", "_lakemerge_batch"),
    "_ingested_at": ("timestamp", "_lakemerge_ingested_at"),
}
#: The same of records of topics.
TOPIC_COLUMNS = {
    "_topic": ("string", "regexp_replace(_lakemerge_file, '-[0-9]+$', '')"),
    "_partition": ("int", "cast(substring_index(_lakemerge_file, '-', -1) as int)"),
    "_offset": ("bigint", "_lakemerge_line"),
    "_timestamp": ("timestamp", "_lakemerge_file_modified"),
    "_batch": ("bigint", "_lakemerge_batch"),
    "_ingested_at": ("timestamp", "_lakemerge_ingested_at"),
}
_INTERVAL = timedelta(seconds=10)
_ENCODINGS = ("UTF-8", "US-ASCII", "ISO-8859-1")
_OF_FORMAT = {
    "field_delimiter": ("delimited",),
    "collection_delimiter": ("delimited", "regex"),
    "map_key_delimiter": ("delimited", "regex"),
    "quote": ("delimited",),
    "escape": ("delimited",),
    "header": ("delimited",),
    "null_literal": ("delimited", "regex"),
    "pattern": ("regex",),
    "line_delimiter": TEXT_FORMATS,
    "encoding": TEXT_FORMATS,
    "skip_empty_lines": TEXT_FORMATS,
    "date_format": TEXT_FORMATS,
    "timestamp_format": TEXT_FORMATS,
    "unterminated_last_record": ("delimited", "regex"),
    "nul_characters": ("delimited", "regex"),
}


@dataclass(frozen=True)
class IngestOptions:
    """How landed files, or topics, become rows; see docs/guides/ingest.md for each.

    Attributes:
        topics: what is read from Kafka; ``None`` if files are read.
        partition_values: one value for all rows, by column, as the config has it.
        record_columns: those of :attr:`record_kinds` that the table gets.
        max_bad_records: with more bad records, nothing is committed; ``None`` for no limit.
        max_bad_fraction: the same as a share of the batch's records, 0 to 1.
        trigger: when the next batch starts: never (``once``), immediately until all is read that had landed when the
            run started (``available_now``), or every ``trigger_interval`` in a continuous run (``processing_time``).
        times: the dates and times that the table's files hold; from the session, not an option.
    """

    landing: LandingRules
    format: str = "delimited"
    field_delimiter: str = ","
    collection_delimiter: str = "\x02"
    map_key_delimiter: str = "\x03"
    line_delimiter: str = "\n"
    quote: str = '"'
    escape: str = ""
    header: bool = False
    null_literal: str = "\\N"
    encoding: str = "UTF-8"
    pattern: str = ""
    date_format: str = ""
    timestamp_format: str = ""
    skip_empty_lines: bool = False
    extra_fields: str = "reject"
    missing_fields: str = "reject"
    unterminated_last_record: str = "reject"
    nul_characters: str = "reject"
    on_bad_record: str = "quarantine"
    on_changed_file: str = "report"
    max_bad_records: int | None = None
    max_bad_fraction: float | None = None
    record_columns: tuple[str, ...] = ()
    partition_values: Mapping[str, Any] = field(default_factory=dict)
    trigger: str = "once"
    trigger_interval: timedelta = _INTERVAL
    topics: TopicRules | None = None
    times: HeldTimes = field(default_factory=HeldTimes)

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> IngestOptions:
        """Read a dbt config.

        Raises:
            InvalidConfig: some options are wrong; the message names them all.
        """
        problems: list[str] = []
        reader = IngestReader(config, problems)
        options = cls.read(reader, problems)
        problems += options._problems(reader)
        reader.check_names()
        reader.require_sound()
        return options

    @classmethod
    def read(cls, reader: IngestReader, problems: list[str]) -> IngestOptions:
        """Read the options one by one."""
        on_changed_file = reader.choice("on_changed_file", "report", "reread", "fail")
        ignored = reader.names("ignore_names")
        return cls(
            landing=LandingRules(
                patterns=reader.names("landing"),
                ignore_names=ignored if reader.value("ignore_names") is not None else UNFINISHED,
                settle_seconds=reader.count("settle_seconds", 10, least=0),
                done_marker=reader.text("done_marker"),
                reread_changed=on_changed_file == "reread",
                max_files=reader.count("max_files", 0, least=0),
                max_bytes=reader.size("max_bytes", 0),
                takes_empty=reader.value("format") in (None, *TEXT_FORMATS) and not reader.value("header"),
            ),
            topics=topic_rules(
                reader.value("kafka", "a mapping"),
                reader.choice("tombstones", "reject", "drop") == "reject",
                problems,
            ),
            format=reader.choice("format", "delimited", "json", "regex", "orc", "parquet", "avro"),
            field_delimiter=reader.verbatim("field_delimiter", ","),
            collection_delimiter=reader.verbatim("collection_delimiter", "\x02"),
            map_key_delimiter=reader.verbatim("map_key_delimiter", "\x03"),
            line_delimiter=reader.verbatim("line_delimiter", "\n"),
            quote=reader.verbatim("quote", '"'),
            escape=reader.verbatim("escape", ""),
            header=reader.flag("header", False),
            null_literal=reader.verbatim("null_literal", "\\N"),
            encoding=reader.text("encoding", "UTF-8").upper(),
            pattern=reader.verbatim("pattern", ""),
            date_format=reader.verbatim("date_format", ""),
            timestamp_format=reader.verbatim("timestamp_format", ""),
            skip_empty_lines=reader.flag("skip_empty_lines", False),
            extra_fields=reader.choice("extra_fields", "reject", "drop"),
            missing_fields=reader.choice("missing_fields", "reject", "null"),
            unterminated_last_record=reader.choice("unterminated_last_record", "reject", "accept"),
            nul_characters=reader.choice("nul_characters", "reject", "accept"),
            on_bad_record=reader.choice("on_bad_record", "quarantine", "fail", "drop"),
            on_changed_file=on_changed_file,
            max_bad_records=reader.limit("max_bad_records"),
            max_bad_fraction=reader.fraction("max_bad_fraction"),
            record_columns=tuple(name.lower() for name in reader.names("record_columns")),
            partition_values=reader.values("partition_values"),
            trigger=reader.choice("trigger", "once", "available_now", "processing_time"),
            trigger_interval=reader.duration("trigger_interval", _INTERVAL),
        )

    def _problems(self, reader: OptionReader) -> list[str]:
        problems = self._source_problems(reader)
        for name, formats in _OF_FORMAT.items():
            if reader.value(name) is not None and self.format not in formats:
                problems.append(f"{name} has no meaning with format '{self.format}'")
        if self.encoding not in _ENCODINGS:
            problems.append(f"encoding must be one of {', '.join(_ENCODINGS)}, not {self.encoding!r}")
        if self.format == "regex" and not self.pattern:
            problems.append("format 'regex' needs a pattern")
        for name in ("quote", "escape"):
            if len(getattr(self, name)) > 1:
                problems.append(f"{name} must be one character, or empty for none")
        problems += self._contradictions()
        return problems

    def _source_problems(self, reader: OptionReader) -> list[str]:
        if reader.value("kafka") is None:
            problems = [] if self.landing.patterns else ["landing must name a folder, a file or a glob"]
            if reader.value("tombstones") is not None:
                problems.append("tombstones has no meaning without kafka")
            return problems
        problems = [
            f"{name} has no meaning with kafka" for name in OF_FILES if reader.value(name) is not None
        ]
        if self.is_typed_format:
            problems.append(
                f"kafka needs a format of text, one of {', '.join(TEXT_FORMATS)}, not {self.format}"
            )
        return problems

    @property
    def record_kinds(self) -> Mapping[str, tuple[str, str]]:
        """What may be recorded of each record: types and SQL of values, by column."""
        return RECORD_COLUMNS if self.topics is None else TOPIC_COLUMNS

    def _contradictions(self) -> list[str]:
        problems = []
        if self.format == "delimited":
            given = [self.field_delimiter, self.quote, self.escape, self.line_delimiter]
            signs = [sign for sign in given if sign]
            if not self.field_delimiter or len(set(signs)) < len(signs):
                problems.append("field_delimiter, quote, escape and line_delimiter must differ")
        if not self.line_delimiter:
            problems.append("line_delimiter must not be empty")
        unknown = [name for name in self.record_columns if name not in self.record_kinds]
        if unknown:
            problems.append(f"record_columns may be {', '.join(self.record_kinds)}, not {', '.join(unknown)}")
        limits = self.max_bad_records is not None or self.max_bad_fraction is not None
        if limits and self.on_bad_record == "fail":
            problems.append("max_bad_records and max_bad_fraction have no meaning with on_bad_record 'fail'")
        if self.trigger == "available_now" and self.trigger_interval != _INTERVAL:
            problems.append("trigger_interval has no meaning with trigger 'available_now'")
        return problems

    @property
    def is_typed_format(self) -> bool:
        """Whether files have types of their own, rather than lines of text."""
        return self.format not in TEXT_FORMATS

    @property
    def has_variants(self) -> bool:
        """Whether JSON values are variants, not texts as :mod:`lakemerge.engine.ingest.marked_texts` has them."""
        return not is_spark_3()

    @property
    def has_local_timestamps(self) -> bool:
        """Whether a pattern of time stamps names no zone, so that they are in the session's."""
        return not re.search("[VzOXxZ]", re.sub("'[^']*'", "", self.timestamp_format))

    @property
    def field_pattern(self) -> str:
        """A regular expression for a delimiter and the field after it as group 1, quoted, escaped or plain.

        Each run of plain characters is one greedy class, which Java matches five times as fast as a choice for every
        character. It need not be possessive, because no shorter run can be followed by what comes next.
        """
        delimiter, quote, escape = (
            re.escape(sign) for sign in (self.field_delimiter, self.quote, self.escape)
        )
        if len(self.field_delimiter) == 1:
            plain = _runs(f"[^{delimiter}{quote}{escape}]*", [f"{escape}."] if escape else [])
        else:
            plain = f"(?:(?!{delimiter})[^{quote}{escape}]{f'|{escape}.' if escape else ''})*+"
        if not quote:
            return f"{delimiter}({plain})"
        within = _runs(f"[^{quote}{escape}]*", [quote * 2, *([f"{escape}."] if escape else [])])
        return f"{delimiter}({quote}{within}{quote}|{plain})"

    @property
    def row_pattern(self) -> str:
        """A regular expression of a whole well-formed record with a delimiter before it."""
        return rf"(?s)^(?:{_without_group(self.field_pattern)})++\z"

    @property
    def field_split(self) -> str:
        """SQL of the regular expression that matches just the delimiter of fields; as of items and keys below."""
        return literal(split_pattern(self.field_delimiter))

    @property
    def collection_split(self) -> str:
        return literal(split_pattern(self.collection_delimiter))

    @property
    def map_key_split(self) -> str:
        return literal(split_pattern(self.map_key_delimiter))

    @property
    def escaped_pattern(self) -> str:
        """A regular expression of an escaped character, or a doubled quote; group 1 is the character that remains."""
        quote = re.escape(self.quote)
        doubled = f"|{quote}(?={quote})" if quote else ""
        return f"(?s)(?:{re.escape(self.escape)}{doubled})(.)"

    def too_many(self, rejected: int, records: int) -> str:
        """The limit that this many rejected records exceed, in words; empty for none."""
        if self.on_bad_record == "fail" and rejected:
            return "no bad record (on_bad_record: fail)"
        if self.max_bad_records is not None and rejected > self.max_bad_records:
            return f"at most {self.max_bad_records} bad records (max_bad_records)"
        if self.max_bad_fraction is not None and rejected > self.max_bad_fraction * records:
            return f"at most a share of {self.max_bad_fraction:g} of bad records (max_bad_fraction)"
        return ""


def split_pattern(delimiter: str) -> str:
    """A regular expression that matches just this text, if possible in a form that Java splits by without one."""
    if len(delimiter) == 1:
        return f"\\{delimiter}" if delimiter in ".$|()[{^?*+\\" else delimiter
    return re.escape(delimiter)


def _runs(run: str, between: list[str]) -> str:
    """A regular expression of runs of plain characters with one of the other texts between each two."""
    return f"{run}(?:(?:{'|'.join(between)}){run})*+" if between else run


def _without_group(pattern: str) -> str:
    """The field pattern with its capturing group made non-capturing."""
    position = re.search(r"(?<!\\)\((?!\?)", pattern)
    assert position is not None, "a field pattern has a group"
    return f"{pattern[: position.start()]}(?:{pattern[position.end() :]}"


class IngestReader(OptionReader):
    """Reads the options that only an ingest has."""

    def verbatim(self, name: str, default: str) -> str:
        """A text whose blanks matter."""
        value = self.value(name, "a text", json.dumps(default) if default else "")
        if value is None:
            return default
        if not isinstance(value, str):
            self._problems.append(f"{name} must be a string, not {value!r}")
            return default
        return value

    def limit(self, name: str) -> int | None:
        given = self.value(name, "a whole number")
        return None if given is None else self.count(name, 0, least=0)

    def fraction(self, name: str) -> float | None:
        value = self.value(name, "a number from 0 to 1")
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            self._problems.append(f"{name} must be a number from 0 to 1, not {value!r}")
            return None
        return float(value)

    def values(self, name: str) -> dict[str, Any]:
        value = self.value(name, "a mapping of columns to values")
        if value is None:
            return {}
        if not isinstance(value, Mapping):
            self._problems.append(f"{name} must map columns to values, not {value!r}")
            return {}
        found = {str(key).lower(): item for key, item in value.items()}
        if len(found) < len(value):
            self._problems.append(f"{name} names a column twice, {', '.join(map(str, value))}")
        return found
