"""Records: what an application writes, checked against the table's columns before anything is stored."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lakemerge.errors import InvalidConfig, InvalidRecord, UnsupportedColumnType, shown
from lakemerge.kernel import HiveColumn
from lakemerge.writer.values import Convert, JsonNumber, converter, key_converter

#: ``rows`` are mappings or sequences of Python values, ``delimited`` lines of text, ``json`` JSON objects.
FORMATS = ("rows", "delimited", "json")


@dataclass(frozen=True)
class Reader:
    """Reads records of one format.

    Attributes:
        columns: what a record holds, in its order.
        keys: how many of the columns, the last ones, are partition columns.
        delimiter: what separates the fields of a line.
        null: the text of a field that is null.
    """

    columns: Sequence[HiveColumn]
    format: str
    delimiter: str = ","
    null: str = "\\N"
    keys: int = 0

    def __post_init__(self) -> None:
        if self.format not in FORMATS:
            raise InvalidConfig(
                expected=f"one of the formats {', '.join(FORMATS)}",
                found=repr(self.format),
                action="Correct `format`.",
            )
        first_key = len(self.columns) - self.keys
        converters = [
            (column, _converter(column, self.format, key_converter if place >= first_key else converter))
            for place, column in enumerate(self.columns)
        ]
        object.__setattr__(self, "_converters", converters)

    def texts(self, record: Any) -> list[str | None]:
        """The record's values as Hive's row format has them, in the order of the columns.

        Raises:
            InvalidRecord: it does not match the columns; nothing of it was written.
        """
        values = self._split(record)
        converters: list[tuple[HiveColumn, Convert]] = getattr(self, "_converters")  # noqa: B009
        texts = []
        for (column, convert), value in zip(converters, values, strict=True):
            try:
                texts.append(None if value is None else convert(value))
            except ValueError as error:
                raise _invalid(record, f"{column.name} {column.type}: {shown(value)} is {error}") from error
        return texts

    def _split(self, record: Any) -> Sequence[Any]:
        splits: dict[str, Callable[[Any], Sequence[Any]]] = {
            "rows": self._of_row,
            "delimited": self._of_line,
            "json": self._of_json,
        }
        return splits[self.format](record)

    def _of_row(self, record: Any) -> Sequence[Any]:
        if isinstance(record, Mapping):
            return self._of_mapping(record, record)
        if isinstance(record, str | bytes) or not isinstance(record, Sequence):
            raise _invalid(record, "no mapping or sequence")
        return self._counted(record, record)

    def _of_line(self, record: Any) -> Sequence[Any]:
        fields = _decoded(record).removesuffix("\n").removesuffix("\r").split(self.delimiter)
        return self._counted(record, [None if field == self.null else field for field in fields])

    def _of_json(self, record: Any) -> Sequence[Any]:
        try:
            # numbers stay as they are written, so that none is rounded before it is checked
            body = json.loads(
                _decoded(record),
                parse_int=JsonNumber,
                parse_float=JsonNumber,
                parse_constant=_no_json,
                object_pairs_hook=_once,
            )
        except (ValueError, RecursionError) as error:
            raise _invalid(record, f"no JSON: {error}") from error
        if not isinstance(body, Mapping):
            raise _invalid(record, "no JSON object")
        return self._of_mapping(record, body)

    def _of_mapping(self, record: Any, body: Mapping[str, Any]) -> Sequence[Any]:
        names = [column.name for column in self.columns]
        if body.keys() != set(names):  # they may be spelled as readers see them
            body, given = {str(name).lower(): value for name, value in body.items()}, body
            if len(body) < len(given):
                raise _invalid(record, f"fields of the same name: {sorted(map(str, given))}")
        unknown = sorted(set(body) - set(names))
        missing = [name for name in names if name not in body]
        if unknown or missing:
            raise _invalid(record, f"fields unknown: {unknown}, missing: {missing}")
        return [body[name] for name in names]

    def _counted(self, record: Any, fields: Sequence[Any]) -> Sequence[Any]:
        if len(fields) != len(self.columns):
            raise _invalid(record, f"{len(fields)} fields for {len(self.columns)} columns")
        return fields


def _once(members: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object, whose names differ."""
    body = dict(members)
    if len(body) < len(members):
        raise ValueError("a name stands twice in an object")
    return body


def _no_json(constant: str) -> None:
    raise ValueError(f"{constant} is no number of JSON")


def _decoded(record: Any) -> str:
    if isinstance(record, bytes):
        try:
            return record.decode()
        except UnicodeDecodeError as error:
            raise _invalid(record, f"no UTF-8: {error}") from error
    if not isinstance(record, str):
        raise _invalid(record, "neither text nor bytes")
    return record


def _converter(column: HiveColumn, form: str, make: Callable[[str, str], Convert]) -> Convert:
    try:
        return make(column.type, form)
    except KeyError as error:
        raise UnsupportedColumnType(
            expected="columns of simple types for a writer",
            found=f"{column.name} {column.type}",
            action="Write such tables with an ingest model.",
        ) from error


def _invalid(record: Any, found: str) -> InvalidRecord:
    return InvalidRecord(
        expected="a record of the table's columns",
        found=f"{found}, in {shown(record)}",
        action="Fix the record or leave it out; the transaction's other records can still be committed.",
    )
