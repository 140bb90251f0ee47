"""The rules of a model's table, as its commits record them for programs that change the table without the model."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from lakemerge.errors import UnsupportedTable

#: The table parameter that holds them.
RULES = "lakemerge.rules"


@dataclass(frozen=True)
class TableRules:
    """How a table may be changed.

    Attributes:
        strategy: ``merge`` or ``append``.
        options: the model's options that matter to it, by their names, without those that have the default.
        constraints: SQL that finds the rows which break the contract's constraints, by the constraint's name.
        feed: Spark's types of the columns that the model gives and that do not reach the table, by name.
    """

    strategy: str
    options: Mapping[str, Any] = field(default_factory=dict)
    constraints: Mapping[str, str] = field(default_factory=dict)
    feed: Mapping[str, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The rules as the parameter holds them; equal rules give the same text."""
        return json.dumps({name: value for name, value in asdict(self).items() if value}, sort_keys=True)

    def differences(self, other: TableRules) -> list[str]:
        """What is not the same in other rules: names of options, or of attributes."""
        mine, others = asdict(self), asdict(other)
        mine, others = ({**own.pop("options"), **own} for own in (mine, others))
        return sorted(name for name in {*mine, *others} if mine.get(name) != others.get(name))

    @classmethod
    def of_text(cls, text: str, table: object) -> TableRules:
        """Read the rules from the text that the parameter holds.

        Raises:
            UnsupportedTable: a newer version has recorded something that this one does not know.
        """
        try:
            return cls(**json.loads(text))
        except (TypeError, ValueError) as error:
            raise UnsupportedTable(
                expected=f"rules of {table} that this version knows",
                found=f"others in its parameter {RULES} ({error})",
                action="Install the version of lakemerge that the model runs with.",
            ) from error
