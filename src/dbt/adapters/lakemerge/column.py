"""Columns with Spark's type names."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, ClassVar

from dbt.adapters.base.column import Column
from dbt.adapters.spark.column import SparkColumn
from dbt_common.exceptions import DbtRuntimeError

from lakemerge.engine.sql_text import quote

_STRINGS = frozenset({"string", "varchar", "char", "text"})
_INTEGERS = frozenset({"tinyint", "byte", "smallint", "short", "int", "integer", "bigint", "long"})
_FLOATS = frozenset({"float", "real", "double"})
_DECIMALS = frozenset({"decimal", "dec", "numeric"})
_FORM = re.compile(r"\s*(?P<name>\w+)\s*(?:\(\s*(?P<arguments>[\d\s,]+)\))?")

#: The longest ``varchar`` of Hive; a longer one is a ``string``.
MAX_VARCHAR = 65535
_UNBOUNDED = 2**31 - 1


@dataclass(repr=False)
class LakemergeColumn(SparkColumn):
    """A column; ``dtype`` is the full type as Spark writes it, such as ``decimal(10,2)``."""

    # dbt's own map turns STRING into TEXT, which Spark does not know.
    TYPE_LABELS: ClassVar[dict[str, str]] = {}

    @property
    def type_name(self) -> str:
        """The type without its arguments, in lower case: ``decimal(10,2)`` gives ``decimal``."""
        match = _FORM.match(self.dtype)
        return match["name"].lower() if match else self.dtype.lower()

    @property
    def _arguments(self) -> tuple[int, ...]:
        match = _FORM.match(self.dtype)
        if match is None or match["arguments"] is None:
            return ()
        return tuple(int(argument) for argument in match["arguments"].split(","))

    @property
    def quoted(self) -> str:
        """The name between backticks."""
        return quote(self.column)

    @property
    def data_type(self) -> str:
        """The whole type."""
        return self.dtype

    def is_string(self) -> bool:
        """Whether the type holds text."""
        return self.type_name in _STRINGS

    def is_integer(self) -> bool:
        """Whether the type holds whole numbers."""
        return self.type_name in _INTEGERS

    def is_float(self) -> bool:
        """Whether the type holds floating-point numbers."""
        return self.type_name in _FLOATS

    def is_numeric(self) -> bool:
        """Whether the type is a decimal."""
        return self.type_name in _DECIMALS

    def string_size(self) -> int:
        """The number of characters that fit.

        Raises:
            DbtRuntimeError: the column holds no text.
        """
        if not self.is_string():
            raise DbtRuntimeError(
                f"Expected a column of text; found {self.column} of type {self.dtype}. "
                "Ask is_string() before string_size()."
            )
        return self._arguments[0] if self._arguments else _UNBOUNDED

    def can_expand_to(self, other_column: Column) -> bool:
        """Whether the other column holds longer texts than this one."""
        if not self.is_string() or not other_column.is_string():
            return False
        return other_column.string_size() > self.string_size()

    def literal(self, value: Any) -> str:
        """An expression that casts ``value``, itself an expression, to this column's type."""
        return f"cast({value} as {self.dtype})"

    @classmethod
    def string_type(cls, size: int) -> str:
        """The type for texts of up to ``size`` characters."""
        return f"varchar({size})" if size <= MAX_VARCHAR else "string"

    @classmethod
    def from_description(cls, name: str, raw_data_type: str) -> LakemergeColumn:
        """A column of a type as Spark or Hive writes it."""
        return cls(name, raw_data_type)

    def __repr__(self) -> str:
        return f"<LakemergeColumn {self.name} ({self.data_type})>"
