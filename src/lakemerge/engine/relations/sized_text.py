"""Texts of a declared length, as SQL has them: ``char(n)`` is filled with blanks, and nothing longer is stored.

Spark has ``string`` for both types in its queries, and its cast to them neither fills nor checks. It does so itself
only where it writes to one of its tables, or reads one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pyspark.sql import types as spark_types
from pyspark.sql.types import DataType, StructType

from lakemerge.engine.relations.nested_types import rewritten
from lakemerge.engine.spark.releases import type_of_ddl
from lakemerge.engine.sql_text import literal, quote
from lakemerge.errors import IncompatibleColumn

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

#: Where Spark's schemas, which show char and varchar as string, keep the type.
CHAR_TYPE = "__CHAR_VARCHAR_TYPE_STRING"
_SIZED_TEXT = re.compile(r"\b(?:var)?char\(\s*\d+\s*\)")
_CHAR = re.compile(r"(?<!var)char\(")
_CHAR_OF = re.compile(r"\s*char\s*\(\s*(\d+)\s*\)\s*")
_REFUSED = re.compile(r"Expected (texts of at most \d+ characters? in .*?); found (one of \d+)\.", re.DOTALL)


def unsized(kind: str) -> str:
    """A type with ``string`` for ``char`` and ``varchar``, which Spark refuses where it reads files by a schema."""
    return _SIZED_TEXT.sub("string", kind)


def char_length(kind: str) -> int:
    """The length of a ``char(n)``, by the type's name; 0 for another type."""
    found = _CHAR_OF.fullmatch(kind.lower())
    return int(found[1]) if found else 0


def holds_sized_text(kind: str) -> bool:
    """Whether a Hive type, by its name, is or holds texts of a declared length."""
    return _SIZED_TEXT.search(kind) is not None


def padded(expression: str, kind: str) -> str:
    """A stored value with its blanks: programs may have written a ``char(n)`` without them."""
    return rewritten(expression, _parsed(kind), _filled) if _CHAR.search(kind) else expression


def fitted(expression: str, kind: str, column: str) -> str:
    """A value as a column of this type stores it. Blanks beyond the length are cut off, as SQL says.

    A longer text fails the query; see :func:`as_too_long`.

    Args:
        column: its name, for the message.
    """
    if not holds_sized_text(kind):
        return expression

    def checked(text: str, sized: DataType) -> str | None:
        if not isinstance(sized, spark_types.CharType | spark_types.VarcharType):
            return None
        most = sized.length
        expected = f"Expected texts of at most {most} characters in {column} ({kind}); found one of "
        refused = f"raise_error(concat({literal(expected)}, char_length(rtrim({text})), '.'))"
        fits = f"rpad({text}, {most}, ' ')"
        if isinstance(sized, spark_types.VarcharType):
            fits = f"if(char_length({text}) > {most}, left({text}, {most}), {text})"
        return f"if(char_length(rtrim({text})) > {most}, {refused}, {fits})"

    return rewritten(expression, _parsed(kind), checked)


def declared_texts(model: Mapping[str, Any]) -> dict[str, str]:
    """The types of a node's columns that are, or hold, texts of a declared length, by the columns' names in lower case.

    They come from an enforced contract, or from a seed's ``column_types``: the query itself has ``string`` for them.
    """
    config = model.get("config") or {}
    types: dict[str, Any] = (
        dict(config.get("column_types") or {}) if model.get("resource_type") == "seed" else {}
    )
    if (config.get("contract") or {}).get("enforced"):
        types = {column["name"]: column.get("data_type") for column in (model.get("columns") or {}).values()}
    given = {name.lower(): re.sub(r"\s+", " ", str(kind).lower().strip()) for name, kind in types.items()}
    return {name: kind for name, kind in given.items() if holds_sized_text(kind)}


def with_lengths(feed: DataFrame, declared: Mapping[str, str], stored: Mapping[str, str]) -> DataFrame:
    """A feed whose texts fit what is declared for them, with these types in its schema.

    Args:
        declared: see :func:`declared_texts`.
        stored: the types of the table's columns: one that is a ``string`` stays one.
    """
    from pyspark.sql import functions

    columns = []
    for field in feed.schema.fields:
        name, value = field.name.lower(), quote(field.name)
        kind = declared.get(name, "")
        if unsized(kind) != field.dataType.simpleString():
            columns.append(functions.col(value))
            continue
        keeps = stored.get(name) == unsized(kind)
        metadata = {**field.metadata, **({} if keeps else {CHAR_TYPE: kind})}
        columns.append(functions.expr(fitted(value, kind, name)).alias(field.name, metadata=metadata))
    return feed.select(*columns)


def padded_columns(schema: StructType) -> list[Column]:
    """All columns of data files that are read by the schema of a table, with the blanks of a ``char(n)``."""
    from pyspark.sql import functions

    return [
        functions.expr(padded(quote(field.name), field.metadata.get(CHAR_TYPE, ""))).alias(field.name)
        for field in schema.fields
    ]


def as_too_long(error: Exception) -> IncompatibleColumn | None:
    """The error for a text that :func:`fitted` has refused; ``None`` for an error of another kind."""
    found = _REFUSED.search(str(error))
    if found is None:
        return None
    return IncompatibleColumn(
        expected=found[1],
        found=found[2],
        action="Nothing was published. Shorten it in the model, or give the column a longer type.",
    )


def _filled(text: str, sized: DataType) -> str | None:
    if not isinstance(sized, spark_types.CharType):
        return None
    return f"if(char_length({text}) < {sized.length}, rpad({text}, {sized.length}, ' '), {text})"


def _parsed(kind: str) -> DataType:
    sized = re.fullmatch(r"(var)?char\(\s*(\d+)\s*\)", kind)
    if sized is None:
        return type_of_ddl(kind)
    size = int(sized[2])
    return spark_types.VarcharType(size) if sized[1] else spark_types.CharType(size)
