"""The arguments of operations, as people and programs give them, checked before anything is done."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from lakemerge.engine.options.reader import OptionReader

_RETENTION = timedelta(hours=168)


@dataclass(frozen=True)
class VacuumArguments:
    """What a vacuum keeps, and how much it frees.

    Attributes:
        retention, retain_last, max_bytes: as of :func:`lakemerge.kernel.vacuum`.
    """

    retention: timedelta
    retain_last: int
    max_bytes: int | None

    @classmethod
    def of(cls, retention_hours: Any, retain_last: Any, max_bytes: Any) -> VacuumArguments:
        """Read the arguments; ``max_bytes`` may be a size such as ``10gb``.

        Raises:
            InvalidConfig: some are wrong; the message names them all.
        """
        reader = _reader(
            {"retention_hours": retention_hours, "retain_last": retain_last, "max_bytes": max_bytes}
        )
        arguments = cls(
            retention=reader.hours("retention_hours", _RETENTION),
            retain_last=reader.count("retain_last", 1),
            max_bytes=reader.size("max_bytes", 0) or None,
        )
        _require_sound(reader)
        return arguments


def limit_of(limit: Any) -> int | None:
    """How many entries of a list are wanted; ``None`` for all. Raises InvalidConfig."""
    reader = _reader({"limit": limit})
    wanted = reader.count("limit", 0)
    _require_sound(reader)
    return wanted or None


def check_flags(flags: Mapping[str, Any]) -> None:
    """Check that each of these arguments is true or false: an empty one, or a text, may mean either.

    Raises:
        InvalidConfig: some are not; the message names them all.
    """
    reader = _reader(flags)
    for name, value in flags.items():
        if value is None:
            reader.problem(f"{name} must be true or false, and it is empty")
        reader.flag(name, False)
    _require_sound(reader)


def _reader(arguments: Mapping[str, Any]) -> OptionReader:
    return OptionReader(arguments, [])


def _require_sound(reader: OptionReader) -> None:
    reader.require_sound("valid arguments", "Correct these arguments.")
