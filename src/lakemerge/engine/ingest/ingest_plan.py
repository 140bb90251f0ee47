"""How records become rows: what macros need to build the SQL for it."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING

from lakemerge.engine.ingest import marked_texts
from lakemerge.engine.ingest.ingest_options import IngestOptions
from lakemerge.engine.ingest.record_rules import RecordRule
from lakemerge.engine.ingest.record_types import RecordColumn, TypedField
from lakemerge.engine.ingest.route_plan import RoutingPlan
from lakemerge.engine.spark.releases import text_of_utf8, valid_utf8
from lakemerge.engine.sql_text import literal, quote

if TYPE_CHECKING:
    from lakemerge.ingest.topics import OffsetRange, Offsets
    from lakemerge.kernel import FileEntry

# A number in JSON that becomes another number or gets another notation as a variant: minus zero, a number with an
# exponent, or one with more digits than a decimal has.
_ODD_NUMBER = r"(?:-0(?:[.]0*)?|[0-9][eE][-+]?[0-9]+)\s*[,}\]]|[0-9.]{39}"
# What precedes a number in JSON, including strings, as group 1, and the number as group 2.
_NUMBER = r'\G([^"0-9-]*+(?:"[^"\\]*+(?:\\.[^"\\]*+)*+"[^"0-9-]*+)*+)(-?[0-9][-+.0-9eE]*+)'
# Up to this many fields of a JSON record are looked up in a map; for more, a struct is read too.
_MANY_FIELDS = 100
# What Java's strings hold in place of bytes that are not UTF-8.
_NO_TEXT = "\ufffd"


@dataclass(frozen=True)
class RecordGroup:
    """Records that are read the same way: of one format and with the same fields.

    Attributes:
        view: the temporary view that holds them.
        format: the records' own; for quarantined ones, that of their text.
        fields: the fields' names in the order of the record.
        named: whether the file itself names its fields.
        options: the model's.
        columns: those of the table.
        typed: for files that have types of their own, how each column is taken from them.
        problems: what is wrong with all records of the group: code and text.
        has_marks: whether the view says which record ends its file without a line delimiter.
        has_nulls: whether records may lack a text, as in topics.
    """

    view: str
    format: str
    fields: tuple[str, ...]
    options: IngestOptions
    columns: tuple[RecordColumn, ...] = ()
    named: bool = False
    typed: Mapping[str, TypedField] = field(default_factory=dict)
    problems: tuple[tuple[str, str], ...] = ()
    has_marks: bool = False
    has_nulls: bool = False

    @property
    def is_typed(self) -> bool:
        """Whether the records have types of their own, rather than texts."""
        return self.format in ("orc", "parquet", "avro")

    @property
    def size(self) -> int:
        """The number of fields of a record."""
        return len(self.fields)

    @functools.cached_property
    def _places(self) -> Mapping[str, int]:
        """The place of each field in the record; for fields of the same name, the first place."""
        return {name: place for place, name in reversed(list(enumerate(self.fields)))}

    def part_sql(self, column: RecordColumn) -> str | None:
        """SQL of a column's field, over the parts of a record, null where the record says null.

        ``None`` if these records have no such field.
        """
        if self.format == "json":
            part = f"_lakemerge_fields[{literal(column.field)}]"
            if self.has_many_fields and column.field in self._distinct_fields:
                part = f"_lakemerge_values.{quote(column.field)}"
            if not self.options.has_variants:
                return f"nullif({part}, '=null')"
            return f"if(is_variant_null({part}), null, {part})"
        if self.is_typed or column.field not in self._places:
            return None
        part = f"get(_lakemerge_tokens, {self._places[column.field]})"
        part_or_null = f"nullif({part}, {literal(self.options.null_literal)})"
        if self.format == "delimited" and (self.options.quote or self.options.escape):
            return f"if(_lakemerge_plain, {part_or_null}, {part})"
        return part_or_null

    def field_sql(self, column: RecordColumn) -> str | None:
        """SQL of a column's field where the fields stand beside each other; see :meth:`part_sql`."""
        if self.is_typed:
            found = self.typed.get(column.name)
            return found.value if found else None
        return None if self.part_sql(column) is None else quote(f"_lakemerge_field_{column.name}")

    def number_sql(self, column: RecordColumn) -> str:
        """SQL of the numbers in a JSON field as they are written; null where the JSON value shows the same."""
        if not (column.type.has_numbers and self.options.has_variants):
            return "null"
        if column.field not in self._number_fields:
            return f"cast(null as {column.type.numbers_sql})"
        return f"_lakemerge_numbers.{quote(column.field)}"

    @property
    def numbers_type(self) -> str:
        """The type of all such numbers of a record, by field; empty where no column holds any."""
        members = [
            f"{quote(field)}:{column.type.numbers_sql}" for field, column in self._number_fields.items()
        ]
        return f"struct<{','.join(members)}>" if members else ""

    @property
    def has_many_fields(self) -> bool:
        """Whether a JSON record is read as a struct of its declared fields too, beside the map of all fields.

        A lookup in a map scans half of its names, so looking up many fields takes longer than reading twice.
        """
        return self.format == "json" and len(self._distinct_fields) > _MANY_FIELDS

    @property
    def values_type(self) -> str:
        """The type of a JSON record's declared fields, each a value of any type."""
        kind = "variant" if self.options.has_variants else "string"
        return f"struct<{','.join(f'{quote(field)}:{kind}' for field in self._distinct_fields)}>"

    def variants_sql(self, found: str) -> str:
        """SQL of a value of :attr:`values_type` as a map by name."""
        fields = self._distinct_fields
        return f"map({', '.join(f'{literal(field)}, {found}.{quote(field)}' for field in fields)})"

    @functools.cached_property
    def _distinct_fields(self) -> Mapping[str, RecordColumn]:
        """The columns of records by field, as far as a struct can have them."""
        return _distinct(self.columns)

    @functools.cached_property
    def _number_fields(self) -> Mapping[str, RecordColumn]:
        """The columns of records with numbers whose notation variants lose, by field."""
        return _distinct(column for column in self.columns if column.type.has_numbers)

    @property
    def odd_number_pattern(self) -> str:
        """A regular expression that finds a number whose variant does not show how it is written."""
        return _ODD_NUMBER

    @property
    def number_pattern(self) -> str:
        """A regular expression that finds the numbers of a JSON text as group 2, and what comes before as group 1."""
        return _NUMBER

    @property
    def marks(self) -> ModuleType:
        """Regular expressions of JSON texts; see :mod:`lakemerge.engine.ingest.marked_texts`."""
        return marked_texts

    @property
    def field_names_sql(self) -> str:
        """The declared fields' names as SQL literals."""
        return ", ".join(literal(name) for name in self.fields)

    @property
    def fields_sql(self) -> str:
        """The names that the file gives its fields, for a later reading; null where it gives none."""
        # an array of no names would have no type
        return f"cast({f'array({self.field_names_sql})' if self.named else 'null'} as array<string>)"


def _distinct(columns: Iterable[RecordColumn]) -> dict[str, RecordColumn]:
    """The columns of records by field. A struct can have only one of several names that differ by case."""
    fields: dict[str, RecordColumn] = {}
    for column in columns:
        if not column.constant:
            fields.setdefault(column.field.lower(), column)
    return {column.field: column for column in fields.values()}


@dataclass
class IngestPlan:
    """How the records of one run become rows.

    Attributes:
        columns: those of the table, without the commit column.
        constraints: SQL that finds rows which break a constraint, by its name.
        rules: what else a row must keep, over the table's columns.
        groups: the records; empty as long as no files are chosen.
        files: the landed files that are read.
        ranges: the offsets of topics that are read.
        offsets_until: offsets up to which this run reads topics; ``None`` for no such limit.
        batch: the number of this batch.
        tasks: how many tasks write rows that are not grouped by partition.
        reported: the changed files that a warning has already named.
        most_bytes: the most that one task reads, by the session's settings; 0 until something is read.
        routing: where else the records go; ``None`` for nowhere, and until the tables are looked up.
        orders: whether the order of records matters, because some go to tables with a key.
    """

    options: IngestOptions
    columns: tuple[RecordColumn, ...]
    constraints: Mapping[str, str]
    rules: Sequence[RecordRule] = ()
    groups: Sequence[RecordGroup] = ()
    files: Sequence[FileEntry] = ()
    ranges: Sequence[OffsetRange] = ()
    offsets_until: Offsets | None = None
    batch: int = 0
    tasks: int = 1
    reported: set[FileEntry] = field(default_factory=set)
    most_bytes: int = 0
    routing: RoutingPlan | None = None
    orders: bool = False

    @property
    def place_sql(self) -> str:
        """SQL of a record's place: of a key's records, the latest counts. Kafka orders the records of a partition."""
        return (
            "struct(_lakemerge_file, _lakemerge_line)"
            if self.options.topics
            else "struct(_lakemerge_file_modified, _lakemerge_file, _lakemerge_line)"
        )

    @property
    def text_sql(self) -> str:
        """SQL of a record's text."""
        if self.options.encoding == "ISO-8859-1":
            return "decode(cast(_lakemerge_raw as binary), 'ISO-8859-1')"
        return "_lakemerge_raw"

    @property
    def valid_sql(self) -> str:
        """SQL that is true where a record's bytes are a text of the declared encoding."""
        if self.options.encoding == "UTF-8":
            return valid_utf8("_lakemerge_raw")
        return (
            "true"
            if self.options.encoding == "ISO-8859-1"
            else "not _lakemerge_raw rlike '[^\\\\x00-\\\\x7F]'"
        )

    def valid_sql_of_exact(self, group: RecordGroup) -> str:
        """The same as :attr:`valid_sql` for records whose values are exact, so only their texts need a check.

        Fields come out of Java's strings, which have U+FFFD in the place of bytes that are no text. A search for it
        takes half the time of a check of every byte of the record. A text may also contain a U+FFFD of its own, so a
        hit is followed by that check. A delimiter, a null literal or a format that contains one would hide it.
        """
        texts = ("string", "char", "binary", "array", "map", "struct")
        columns = {column.field: column for column in self.columns if not column.constant}
        options = self.options
        whole = options.extra_fields == "reject" and set(group.fields) <= set(columns)
        signs = (options.field_delimiter, options.quote, options.escape, options.null_literal)
        hidden = any(_NO_TEXT in sign for sign in (*signs, options.date_format, options.timestamp_format))
        if group.format != "delimited" or options.encoding != "UTF-8" or hidden or not whole:
            return self.valid_sql
        fields = [group.field_sql(columns[name]) for name in group.fields if columns[name].type.kind in texts]
        if not fields:
            return "true"
        texts_sql = f"concat_ws('', {', '.join(map(str, fields))})"
        return f"not contains({texts_sql}, {literal(_NO_TEXT)}) or {self.valid_sql}"

    @property
    def record_sql(self) -> str:
        """SQL of a record as people read it, whatever its bytes."""
        return self.text_sql if self.options.encoding == "ISO-8859-1" else text_of_utf8("_lakemerge_raw")

    @property
    def record_bytes_sql(self) -> str:
        """SQL of a record's bytes, for when its text is not enough to read it again."""
        raw = "cast(_lakemerge_raw as binary)"
        return f"if(cast({self.record_sql} as binary) = {raw}, null, {raw})"

    @property
    def mark_sql(self) -> str:
        """SQL of a record's mark, one of 65,536.

        In the files that hold rejected records, records with other marks than these need not be parsed again.
        """
        return "xxhash64(_lakemerge_raw) & 65535"

    @property
    def pattern_sql(self) -> str:
        """A regular expression that matches a whole record, as a literal."""
        return literal(rf"^(?:{self.options.pattern})\z")

    @property
    def rejects_unterminated(self) -> bool:
        """Whether a last record without a line delimiter counts as truncated."""
        return self.options.unterminated_last_record == "reject"

    @property
    def rejects_nul(self) -> bool:
        """Whether a NUL in a record counts as a wrong encoding.

        UTF-16 and UTF-32 are full of them, and most of their bytes are sound UTF-8 too. JSON allows none anyway.
        """
        options = self.options
        signs = [options.field_delimiter, options.collection_delimiter, options.map_key_delimiter]
        signs += [options.line_delimiter, options.quote, options.escape, options.null_literal]
        is_sign = any("\0" in sign for sign in signs)
        return options.nul_characters == "reject" and options.format != "json" and not is_sign

    @property
    def file_fields(self) -> tuple[str, ...]:
        """The fields that records are expected to have, in order."""
        return tuple(column.field for column in self.columns if not column.constant)
