"""The options of a merge that keeps history (``stored_as_scd_type: 2``); names are those of Spark AUTO CDC."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lakemerge.engine.options.reader import OptionReader

# Column names for the words that history_column_names accepts.
_NAMES = {
    "auto_cdc": {"start_at": "__start_at", "end_at": "__end_at"},
    "dbt": {"start_at": "dbt_valid_from", "end_at": "dbt_valid_to"},
}
_KNOWN = {"known_from": "__known_from", "known_to": "__known_to"}


@dataclass(frozen=True)
class Scd2Config:
    """Which changes of a feed become history, and in which columns.

    Attributes:
        start_at, end_at: the columns of a version's bounds: the sequence that it begins with, and the one that ends
            it (null while it is the current one). All names are in lower case, as Hive keeps them.
        tracked: the columns whose changes make a new version; empty for all but ``untracked``.
        bitemporal: whether to keep rows that a later commit corrects, with the versions of the table that held them.
        known_from, known_to: the columns that hold these versions.
    """

    start_at: str = "__start_at"
    end_at: str = "__end_at"
    tracked: tuple[str, ...] = ()
    untracked: tuple[str, ...] = ()
    bitemporal: bool = False
    known_from: str = "__known_from"
    known_to: str = "__known_to"

    @classmethod
    def of(cls, reader: OptionReader) -> Scd2Config:
        """Read the options of a dbt config."""
        tracked = reader.names("track_history_column_list")
        untracked = reader.names("track_history_except_column_list")
        bitemporal = reader.flag("bitemporal", False)
        if tracked and untracked:
            reader.problem(
                "track_history_column_list and track_history_except_column_list exclude each other"
            )
        given = _names(reader, bitemporal)
        if len(set(given.values())) < len(given):
            reader.problem(f"history_column_names must differ, not {', '.join(given.values())}")
        lower = tuple(name.lower() for name in tracked), tuple(name.lower() for name in untracked)
        return cls(tracked=lower[0], untracked=lower[1], bitemporal=bitemporal, **given)

    @property
    def recorded(self) -> dict[str, Any]:
        """The options that do not have the default, for JSON; :meth:`of` reads them again."""
        own = _KNOWN if self.bitemporal else {}
        names = {role: getattr(self, role) for role in (*_NAMES["auto_cdc"], *own)}
        found = {
            "track_history_column_list": list(self.tracked),
            "track_history_except_column_list": list(self.untracked),
            "history_column_names": names if names != {**_NAMES["auto_cdc"], **own} else None,
            "bitemporal": self.bitemporal,
        }
        return {option: value for option, value in found.items() if value}

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that this adds to the table, without that of the layout."""
        known = (self.known_from, self.known_to) if self.bitemporal else ()
        return (self.start_at, self.end_at, *known)


def _names(reader: OptionReader, bitemporal: bool) -> dict[str, str]:
    """``auto_cdc`` (the default), ``dbt``, or names by ``start_at``, ``end_at``, ``known_from``, ``known_to``."""
    value = reader.value("history_column_names", "`auto_cdc`, `dbt` or a mapping", "auto_cdc")
    known = dict(_NAMES["auto_cdc"] if isinstance(value, Mapping) or value is None else {})
    if isinstance(value, Mapping):
        wrong = {
            key: name
            for key, name in value.items()
            if key not in {**known, **_KNOWN} or not isinstance(name, str) or not name.strip()
        }
        if wrong:
            reader.problem(
                "history_column_names takes names for start_at, end_at, known_from and known_to; "
                f"not {', '.join(f'{key}: {name!r}' for key, name in wrong.items())}"
            )
        known.update({key: name.strip().lower() for key, name in value.items() if key not in wrong})
    elif value in _NAMES:
        known.update(_NAMES[value])
    elif value is not None:
        reader.problem(f"history_column_names must be auto_cdc, dbt, or names by column, not {value!r}")
        known.update(_NAMES["auto_cdc"])
    if not bitemporal and (unused := [key for key in _KNOWN if key in known]):
        reader.problem(f"history_column_names: {', '.join(unused)} only have a meaning with bitemporal")
    return {**_KNOWN, **known}
