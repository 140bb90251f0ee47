"""Reads options from a dbt config and reports all that are wrong together."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from dbt.adapters.lakemerge.options.groups import Group
from dbt_common.exceptions import CompilationError

from lakemerge.errors import InvalidConfig, LakemergeError

_UNITS = {"s": 1, "second": 1, "m": 60, "minute": 60, "h": 3600, "hour": 3600, "d": 86400, "day": 86400}
_SIZES = {"b": 1, "kb": 2**10, "mb": 2**20, "gb": 2**30}


@contextmanager
def config_errors() -> Iterator[None]:
    """Raise wrong options as dbt's own compilation error."""
    try:
        yield
    except LakemergeError as error:
        raise CompilationError(str(error)) from error


class OptionReader:
    """Reads single options and collects their problems."""

    def __init__(self, config: Mapping[str, Any], problems: list[str]) -> None:
        self._config = config
        self._problems = problems

    def require_sound(
        self,
        expected: str = "a valid configuration",
        action: str = "Correct these options of the model.",
    ) -> None:
        """Raise InvalidConfig with all problems, if there are any."""
        if self._problems:
            raise InvalidConfig(expected=expected, found="; ".join(self._problems), action=action)

    def value(self, name: str) -> Any:
        """The value that a config gives an option, unchanged; ``None`` if none."""
        return self._config.get(name)

    def misplaced(self, group: Group) -> list[str]:
        """The problems of options given for a group that does not apply here."""
        given = self.given(group.options, even_if_off=group.even_if_off)
        return [f"{', '.join(given)} only have a meaning {group.meaning}"] if given else []

    def given(self, names: Iterable[str], *, even_if_off: bool = False) -> list[str]:
        """The options that a config gives a value.

        Args:
            even_if_off: also a value that means "off".
        """
        none: list[Any] = [None] if even_if_off else [None, "", [], False, "none"]
        return [name for name in names if self.value(name) not in none]

    def problem(self, text: str) -> None:
        """Add a problem."""
        self._problems.append(text)

    def texts(self, name: str) -> dict[str, str]:
        """A mapping of texts."""
        value = self.value(name) or {}
        if not isinstance(value, Mapping):
            self._problems.append(f"{name} must be a mapping, not {value!r}")
            return {}
        return {str(key): str(text) for key, text in value.items()}

    def names(self, name: str) -> tuple[str, ...]:
        value = self.value(name)
        values = (
            [value]
            if isinstance(value, str) or not isinstance(value or (), list | tuple | set)
            else value or ()
        )
        if any(not isinstance(item, str) for item in values):
            self._problems.append(f"{name} must be a string or a list of strings, not {value!r}")
            return ()
        return tuple(item.strip() for item in values if item.strip())

    def text(self, name: str) -> str:
        value = self.value(name)
        if value is not None and not isinstance(value, str):
            self._problems.append(f"{name} must be a string, not {value!r}")
            return ""
        return (value or "").strip()

    def flag(self, name: str, default: bool) -> bool:
        value = self.value(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            self._problems.append(f"{name} must be true or false, not {value!r}")
            return default
        return value

    def choice(self, name: str, default: str, *others: str) -> str:
        """One of some words, in lower case; the first one by default."""
        value = self.value(name)
        if value is None:
            return default
        allowed = (default, *others)
        if value is False and "off" in allowed:  # as YAML reads a bare `off`
            return "off"
        if str(value).lower() not in allowed:
            self._problems.append(f"{name} must be one of {', '.join(allowed)}, not {value!r}")
            return default
        return str(value).lower()

    def duration(self, name: str, default: timedelta) -> timedelta:
        value = self.value(name)
        if value is None:
            return default
        match = re.fullmatch(r"\s*(\d+)\s*([a-z]+?)s?\s*", str(value).lower())
        if not match or match[2] not in _UNITS:
            self._problems.append(f"{name} must be a duration such as '30 days' or '12 hours', not {value!r}")
            return default
        return timedelta(seconds=int(match[1]) * _UNITS[match[2]])

    def count(self, name: str, default: int, least: int = 1) -> int:
        value = self.value(name)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            self._problems.append(f"{name} must be a whole number of at least {least}, not {value!r}")
            return default
        return int(value)

    def size(self, name: str, default: int) -> int:
        value = self.value(name)
        if value is None:
            return default
        match = re.fullmatch(r"\s*(\d+)\s*([kmg]?b)?\s*", str(value).lower())
        if not match or int(match[1]) == 0:
            self._problems.append(f"{name} must be a size such as '128mb', not {value!r}")
            return default
        return int(match[1]) * _SIZES[match[2] or "b"]
