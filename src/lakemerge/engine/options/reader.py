"""Reads options from a dbt config and reports all that are wrong together."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from lakemerge.engine.options.groups import Group
from lakemerge.engine.options.names import GONE, meant
from lakemerge.engine.sql_text import one_line_strings
from lakemerge.errors import InvalidConfig

_SECONDS = {("s", "second"): 1, ("m", "minute"): 60, ("h", "hour"): 3600, ("d", "day"): 86400}
_UNITS = {name: seconds for (short, word), seconds in _SECONDS.items() for name in (short, word, f"{word}s")}
_SIZES = {"": 1, "b": 1, "kb": 2**10, "mb": 2**20, "gb": 2**30, "tb": 2**40}
# As they are shown, the largest first.
_SPANS = {f"{word}s": seconds for (_, word), seconds in reversed(_SECONDS.items())}
_BYTES = {**{unit.upper(): size for unit, size in reversed(_SIZES.items()) if size > 1}, "bytes": 1}
# Python's \d also matches digits of other scripts
_AMOUNT = re.compile(r"\s*([0-9]+)\s*([a-z]*)\s*")
# Java counts bytes in 64 bits; a century is longer than anything is kept, and short enough to be taken off a date.
_MOST_BYTES = 2**63 - 1
_LONGEST = timedelta(days=36525)


@dataclass(frozen=True)
class Declared:
    """An option as the code reads it, in words.

    Attributes:
        values: what it takes: some words, or a description; empty where only its guide says so.
        default: what it is if nothing is given; empty for nothing.
    """

    values: str | tuple[str, ...] = ""
    default: str = ""


class OptionReader:
    """Reads single options and collects their problems.

    Attributes:
        declared: the options that were asked for.
    """

    def __init__(self, config: Mapping[str, Any], problems: list[str]) -> None:
        self._config = config
        self._problems = problems
        self.declared: dict[str, Declared] = {}

    def require_sound(
        self,
        expected: str = "a valid configuration",
        action: str = "Correct these options of the model.",
    ) -> None:
        """Raise InvalidConfig with all problems, if there are any."""
        if self._problems:
            raise InvalidConfig(expected=expected, found="; ".join(self._problems), action=action)

    def value(self, name: str, values: str | tuple[str, ...] = "", default: object = "") -> Any:
        """The value that a config gives an option, unchanged; ``None`` if none.

        Args:
            values, default: see :class:`Declared`.
        """
        if values or name not in self.declared:
            self.declared[name] = Declared(values, str(default))
        return self._config.get(name)

    def check_names(self, also: Iterable[str] = ()) -> None:
        """Add a problem for each name that was given and is almost one that was asked for, or was one once.

        Args:
            also: options that are read elsewhere.
        """
        given = [name for name, value in self._config.items() if value is not None]
        self._problems += [f"{name} is no option any more: {GONE[name]}" for name in given if name in GONE]
        self._problems += [
            f"{name} is no option, and {meaning} is. If it is not meant, put {name} under `meta`"
            for name, meaning in meant(given, {*self.declared, *also}).items()
        ]

    def refuse_others(self) -> None:
        """Add a problem for each name that was given and not asked for, where nobody else reads the config."""
        unknown = [str(name) for name in self._config if name not in self.declared]
        if unknown:
            self._problems.append(
                f"{', '.join(unknown)} is not known: it has {', '.join(sorted(self.declared))}"
            )

    def misplaced(self, group: Group) -> list[str]:
        """The problems of options given for a group that does not apply here."""
        given = self.given(group.options)
        return [f"{', '.join(given)} only have a meaning {group.meaning}"] if given else []

    def given(self, names: Iterable[str]) -> list[str]:
        """The options that a config gives a value other than one that means "off"."""
        none: list[Any] = [None, "", [], False, "none"]
        return [name for name in names if self.value(name) not in none]

    def problem(self, text: str) -> None:
        """Add a problem."""
        self._problems.append(text)

    def texts(self, name: str) -> dict[str, str]:
        """A mapping of texts."""
        value = self.value(name, "a mapping") or {}
        if not isinstance(value, Mapping):
            self._problems.append(f"{name} must be a mapping, not {value!r}")
            return {}
        return {str(key): str(text) for key, text in value.items()}

    def names(self, name: str) -> tuple[str, ...]:
        value = self.value(name, "a text, or a list of texts")
        values = (
            [value]
            if isinstance(value, str) or not isinstance(value or (), list | tuple | set)
            else value or ()
        )
        if any(not isinstance(item, str) for item in values):
            self._problems.append(f"{name} must be a string or a list of strings, not {value!r}")
            return ()
        return tuple(one_line_strings(item.strip()) for item in values if item.strip())

    def text(self, name: str, default: str = "") -> str:
        """A text, without blanks at its ends; the default for an empty one."""
        value = self.value(name, "a text", default)
        if value is not None and not isinstance(value, str):
            self._problems.append(f"{name} must be a string, not {value!r}")
            return default
        return one_line_strings((value or "").strip()) or default

    def flag(self, name: str, default: bool) -> bool:
        value = self.value(name, ("true", "false"), str(default).lower())
        if value is None:
            return default
        if not isinstance(value, bool):
            self._problems.append(f"{name} must be true or false, not {value!r}")
            return default
        return value

    def choice(self, name: str, default: str, *others: str) -> str:
        """One of some words, in lower case; the first one by default, and for an empty text."""
        value = self.value(name, (default, *others), default)
        if value is None or value == "":
            return default
        allowed = (default, *others)
        if value is False and "off" in allowed:  # as YAML reads a bare `off`
            return "off"
        if str(value).lower() not in allowed:
            self._problems.append(f"{name} must be one of {', '.join(allowed)}, not {value!r}")
            return default
        return str(value).lower()

    def duration(self, name: str, default: timedelta) -> timedelta:
        """A whole number and a unit of time."""
        value = self.value(name, "a time, such as `12 hours`", _shown(default.total_seconds(), _SPANS))
        if value is None:
            return default
        number, unit = _amount(value, _UNITS)
        if number is None or number * unit > _LONGEST.total_seconds():
            self._problems.append(
                f"{name} must be a whole number of seconds, minutes, hours or days, at most a century, such as "
                f"'30 days' or '12 hours', not {value!r}"
            )
            return default
        return timedelta(seconds=number * unit)

    def hours(self, name: str, default: timedelta) -> timedelta:
        """A number of hours, more than 0."""
        value = self.value(name, "a number of hours", default.total_seconds() / 3600)
        if value is None:
            return default
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not 0 < value <= _LONGEST.total_seconds() / 3600:
            self._problems.append(f"{name} must be a number of hours above 0, not {value!r}")
            return default
        return timedelta(hours=value)

    def count(self, name: str, default: int, least: int = 1) -> int:
        value = self.value(name, f"a whole number, at least {least}", default if default >= least else "")
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            self._problems.append(f"{name} must be a whole number of at least {least}, not {value!r}")
            return default
        return int(value)

    def size(self, name: str, default: int) -> int:
        """A whole number of bytes, which may have a unit, as a number of bytes."""
        value = self.value(name, "bytes, such as `128mb`", _shown(default, _BYTES) if default else "")
        if value is None:
            return default
        number, unit = _amount(value, _SIZES)
        if not number or number * unit > _MOST_BYTES:
            self._problems.append(
                f"{name} must be a whole number of bytes, or one with kb, mb, gb or tb, such as '128mb', not {value!r}"
            )
            return default
        return number * unit


def _shown(number: float, units: Mapping[str, int]) -> str:
    """A number in the largest unit that divides it: ``30 days``."""
    unit, size = next((unit, size) for unit, size in units.items() if number % size == 0)
    return f"{number / size:.0f} {unit}"


def _amount(value: Any, units: Mapping[str, int]) -> tuple[int | None, int]:
    """The number of a text such as ``30 days``, and what its unit is worth; no number for any other text."""
    match = _AMOUNT.fullmatch(str(value).lower())
    # Python refuses to read a number of thousands of digits
    if match is None or match[2] not in units or len(match[1]) > 20:
        return None, 0
    return int(match[1]), units[match[2]]
