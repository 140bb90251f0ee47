"""Pins: versions of a table that a consumer has not got past yet, so that vacuum leaves them.

A pin ends by itself at its expiry, so that a consumer nobody runs any more does not keep files for ever.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import logging
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace

from lakemerge.errors import StorageError
from lakemerge.kernel.ports.filesystem import FileSystem
from lakemerge.kernel.table.layout import Layout

_LOG = logging.getLogger("lakemerge")


@dataclass(frozen=True)
class Pin:
    """A consumer's need of a version and all that came after it.

    Attributes:
        consumer: who: the consumer's name and its output's.
        version: the oldest version that it still reads.
        expires_at: ISO 8601 in UTC; from then on the pin counts no more.
    """

    consumer: str
    version: int
    expires_at: str


def set_pin(files: FileSystem, layout: Layout, pin: Pin, *, unless_older: bool = False) -> None:
    """Write a consumer's pin in the place of the one it had.

    Args:
        unless_older: keep the version of the one it had, if that is older.
    """
    path = _path(layout, pin.consumer)
    known = _read(files, path) if unless_older else None
    if known is not None:
        pin = replace(pin, version=min(pin.version, known.version))
    files.write_text(path, json.dumps(asdict(pin)) + "\n")


def remove_pin(files: FileSystem, layout: Layout, consumer: str) -> None:
    """Remove a consumer's pin; no error where there is none."""
    files.delete(_path(layout, consumer))


def pins(files: FileSystem, layout: Layout) -> Iterator[Pin]:
    """All pins of a table, expired ones among them."""
    for entry in files.list(layout.pins):
        pin = None if entry.name.startswith(".") else _read(files, entry.path)
        if pin is not None:
            yield pin


def _read(files: FileSystem, path: str) -> Pin | None:
    """A pin, or ``None`` where there is none."""
    try:
        return Pin(**json.loads(files.read_text(path)))
    except FileNotFoundError:
        return None
    except (ValueError, StorageError):
        # being rewritten in this moment: what it needs is not known, so all is needed
        never = datetime.datetime.max.replace(tzinfo=datetime.timezone.utc)
        return Pin(path.rpartition("/")[2], 0, never.isoformat())


def keepers(files: FileSystem, layout: Layout, now: datetime.datetime) -> list[str]:
    """Whose pins keep versions now, each with the oldest that it needs."""
    return sorted(
        f"the consumer {pin.consumer} (from version {pin.version} on)"
        for pin in pins(files, layout)
        if datetime.datetime.fromisoformat(pin.expires_at) > now
    )


def oldest_pinned(files: FileSystem, layout: Layout, now: datetime.datetime) -> int:
    """The oldest version that a pin keeps; above every version where there is none."""
    versions = [sys.maxsize]
    for pin in pins(files, layout):
        if datetime.datetime.fromisoformat(pin.expires_at) > now:
            versions.append(pin.version)
        else:
            _LOG.warning(
                "The consumer %s has not run since before %s: its pin on version %d no longer counts",
                pin.consumer,
                pin.expires_at,
                pin.version,
            )
    return min(versions)


def _path(layout: Layout, consumer: str) -> str:
    return f"{layout.pins}/{hashlib.sha256(consumer.encode()).hexdigest()[:16]}.json"
