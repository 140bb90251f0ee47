"""Rows of a program, of any kind, in the columns and types of a table's changes."""

from __future__ import annotations

import decimal
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.errors import PySparkException
from pyspark.sql import types
from pyspark.sql.types import DataType, StructField, StructType

from lakemerge.engine.relations.nested_types import cast_by_name, field_of
from lakemerge.engine.relations.table_schema import misfits_of
from lakemerge.engine.ruled_table import ORDER
from lakemerge.engine.sql_text import quote
from lakemerge.errors import IncompatibleColumn, InvalidRecord

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class ChangeColumns:
    """The columns that the changes of a table may have.

    Attributes:
        table: its name, for messages.
        types: their types, by their names in lower case.
    """

    table: str
    types: Mapping[str, DataType]

    @property
    def schema(self) -> StructType:
        return StructType([StructField(name, kind) for name, kind in self.types.items()])

    def checked(self, names: Iterable[object], required: Collection[str]) -> dict[str, Any]:
        """The names as they are given, by the names of the table's columns.

        Raises:
            InvalidRecord: some are not the table's, some are there twice, or required ones are missing.
        """
        given = [str(name).lower() for name in names]
        problems = []
        if unknown := sorted(set(given) - set(self.types)):
            problems.append(f"columns that it does not have ({', '.join(unknown)})")
        if twice := sorted({name for name in given if given.count(name) > 1}):
            problems.append(f"columns that are there twice ({', '.join(twice)})")
        if missing := [name for name in required if name not in given]:
            problems.append(f"no value of {', '.join(missing)}")
        if problems:
            raise self._invalid(f"the columns {', '.join(required)}", " and ".join(problems))
        return dict(zip(given, names, strict=True))

    # -- frames --------------------------------------------------------------------------------

    def selected(self, frame: DataFrame, required: Collection[str], *more: str) -> DataFrame:
        """A frame's rows in these columns and types; columns that it lacks are null.

        Args:
            more: SQL of columns to select besides; a column :data:`ORDER` of the frame may be one of them.

        Raises:
            InvalidRecord: its columns are not the table's.
            IncompatibleColumn: a column's values may not fit the table's type.
        """
        names = self.checked([name for name in frame.columns if name != ORDER], required)
        found = {name: frame.schema[given].dataType for name, given in names.items()}
        wrong = [
            problem for name, kind in found.items() for problem in misfits_of(kind, self.types[name], name)
        ]
        if wrong:
            raise IncompatibleColumn(
                expected=f"columns that fit those of {self.table}",
                found="; ".join(wrong),
                action="Cast them, and decide what becomes of values that do not fit.",
            )
        columns = (
            f"{cast_by_name(quote(str(names[name])), found[name], kind)} as {quote(name)}"
            if name in names
            else f"cast(null as {kind.simpleString()}) as {quote(name)}"
            for name, kind in self.types.items()
        )
        return frame.selectExpr(*columns, *more)

    def numbered(self, table: pa.Table, first: int) -> pa.Table:
        """An Arrow table with its numbers in the table's types, and the rows' places from ``first`` on.

        Raises:
            InvalidRecord: a number does not fit the type.
        """
        import pyarrow as pa

        numbers: Mapping[type[DataType], pa.DataType] = {
            types.ByteType: pa.int8(),
            types.ShortType: pa.int16(),
            types.IntegerType: pa.int32(),
            types.LongType: pa.int64(),
            types.DoubleType: pa.float64(),
        }
        for place, field in enumerate(table.schema):
            kind = numbers.get(type(self.types.get(field.name.lower(), types.NullType())))
            if kind is not None and (pa.types.is_integer(field.type) or pa.types.is_floating(field.type)):
                try:
                    table = table.set_column(place, field.name, table.column(place).cast(kind))
                except pa.ArrowInvalid as error:
                    raise self._invalid(f"values of {field.name} that fit its type", str(error)) from error
        return table.append_column(ORDER, pa.array(range(first, first + table.num_rows), pa.int64()))

    # -- records -------------------------------------------------------------------------------

    def tuples(self, records: Iterable[Any], required: Collection[str]) -> Iterator[tuple[Any, ...]]:
        """Python records in the order of these columns, each checked before the next one is asked for.

        Args:
            records: mappings, or rows of Spark.

        Raises:
            InvalidRecord: a record has other columns than the table, or a value that does not fit.
        """
        # pyspark's own check of rows; createDataFrame makes it only when the rows are sent to Java, too late to say
        # which call brought them
        from pyspark.sql.types import _make_type_verifier

        verify = {name: _make_type_verifier(kind, name=name) for name, kind in self.types.items()}
        for record in records:
            values = record.asDict() if isinstance(record, types.Row) else record
            if not isinstance(values, Mapping):
                raise self._invalid("mappings of columns to values", f"a {type(record).__name__}")
            names = self.checked(values, required)
            row = tuple(
                _fitting(values[names[name]], kind) if name in names else None
                for name, kind in self.types.items()
            )
            for (name, kind), value in zip(self.types.items(), row, strict=True):
                if (problem := _problem(kind, verify[name], value)) is not None:
                    raise self._invalid(f"values of {name} that are {kind.simpleString()}", problem)
            yield row

    def _invalid(self, expected: str, found: str) -> InvalidRecord:
        return InvalidRecord(
            expected=f"rows for {self.table} with {expected}",
            found=found,
            action="Correct the row, or leave it out. It is not part of the transaction, nor are the rows after it.",
        )


def _problem(kind: DataType, verify: Callable[[Any], Any], value: Any) -> str | None:
    """Why a value does not belong to a type; ``None`` if it does."""
    # Spark itself turns anything into text, and rounds numbers or makes them null
    if isinstance(kind, types.StringType) and value is not None and not isinstance(value, str):
        return f"{value!r}, a {type(value).__name__}"
    if strange := list(_strange_fields(kind, value)):
        return "; ".join(strange)
    try:
        verify(value)
    except PySparkException as error:
        return str(error)
    if isinstance(kind, types.DecimalType) and value is not None and not _holds(kind, value):
        return str(value)
    return None


def _holds(kind: types.DecimalType, value: decimal.Decimal) -> bool:
    if not value.is_finite():
        return False
    _, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    return -exponent <= kind.scale and len(digits) + exponent <= kind.precision - kind.scale


def _fitting(value: Any, kind: DataType) -> Any:
    """A value in the form that Spark wants for a type, where that is the same value.

    Whole numbers become numbers of the type, and structs get the type's order of fields: Spark takes a row by place.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int) and isinstance(kind, types.DoubleType | types.FloatType):
        return float(value) if float(value) == value else value
    if isinstance(value, int) and isinstance(kind, types.DecimalType):
        return decimal.Decimal(value)
    if isinstance(kind, StructType) and (named := _named(value)) is not None:
        if any(_strange_fields(kind, value)):
            return value
        given = {name.lower(): item for name, item in named.items()}
        return tuple(_fitting(given[field.name.lower()], field.dataType) for field in kind.fields)
    if isinstance(kind, types.ArrayType) and isinstance(value, list | tuple):
        return [_fitting(item, kind.elementType) for item in value]
    if isinstance(kind, types.MapType) and isinstance(value, Mapping):
        return {_fitting(k, kind.keyType): _fitting(item, kind.valueType) for k, item in value.items()}
    return value


def _named(value: Any) -> Mapping[str, Any] | None:
    """The fields of a struct that names them; ``None`` for one that does not, such as a tuple."""
    if isinstance(value, types.Row):
        # without names for a row that was made of values alone
        return dict(zip(value.__fields__, value, strict=True)) if hasattr(value, "__fields__") else None
    return {str(name): item for name, item in value.items()} if isinstance(value, Mapping) else None


def _strange_fields(kind: DataType, value: Any, path: str = "") -> Iterator[str]:
    """What a value's structs have more or less than those of its type."""
    if isinstance(kind, StructType) and (named := _named(value)) is not None:
        for name, item in named.items():
            if (field := field_of(kind, name)) is None:
                yield f"the field {path}{name}, which it does not have"
            else:
                yield from _strange_fields(field.dataType, item, f"{path}{name}.")
        given = {name.lower() for name in named}
        yield from (f"no field {path}{f.name}" for f in kind.fields if f.name.lower() not in given)
    elif isinstance(kind, types.ArrayType) and isinstance(value, list | tuple):
        for item in value:
            yield from _strange_fields(kind.elementType, item, f"{path}element.")
    elif isinstance(kind, types.MapType) and isinstance(value, Mapping):
        for key, item in value.items():
            yield from _strange_fields(kind.keyType, key, f"{path}key.")
            yield from _strange_fields(kind.valueType, item, f"{path}value.")


def frame_of(rows: Any) -> DataFrame | None:
    """A frame of Spark, or of pandas on Spark, as a frame of Spark; ``None`` for what is neither."""
    if type(rows).__module__.startswith("pyspark.pandas."):
        return rows.to_spark()  # type: ignore[no-any-return]
    is_frame = hasattr(rows, "sparkSession") and hasattr(rows, "selectExpr")
    return rows if is_frame else None


def arrow_of(rows: Any) -> pa.Table | None:
    """A table of Arrow, or of pandas, as one of Arrow; ``None`` for what is neither."""
    import pandas as pd
    import pyarrow as pa

    if isinstance(rows, pd.DataFrame):
        return pa.Table.from_pandas(rows, preserve_index=False)
    if isinstance(rows, pa.RecordBatch):
        return pa.Table.from_batches([rows])
    return rows if isinstance(rows, pa.Table) else None
