"""Versions of a table by their numbers, by a time, or by a name, as far as vacuum has left them."""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Iterator

from lakemerge.errors import (
    CorruptTable,
    TimeBeforeHistory,
    TimeInFuture,
    UnknownReference,
    VersionNotFound,
    VersionVacuumed,
)
from lakemerge.kernel.kernel import Kernel
from lakemerge.kernel.ports.names import TableName
from lakemerge.kernel.table.manifest import Manifest, Reference
from lakemerge.kernel.table.manifests import commits
from lakemerge.kernel.table.state import TableState


def find_version(
    kernel: Kernel,
    name: TableName,
    *,
    version: int | None = None,
    time: datetime.datetime | None = None,
    tag: str | None = None,
) -> tuple[TableState, Manifest]:
    """A version of a table with its whole state, and the state of the table now.

    Args:
        version, time, tag: one of them. Of a time, the last version that was committed by then: commits are ordered by
            number, and their times are those of their writers' clocks. Without any, the newest version.

    Raises:
        VersionNotFound: no version has this number, or had been made by this time.
        UnknownReference: no version has this name.
        TableNotFound, UnsupportedTable: there is no such table, or it has no versions.
    """
    state, newest = kernel.settled(name)
    if tag is not None:
        return state, _named(kernel, state, newest, tag)
    if version is not None:
        return state, _numbered(kernel, state, newest, version)
    if time is not None:
        return state, _at(kernel, state, newest, time)
    return state, newest


def reference_of(state: TableState, newest: Manifest, tag: str) -> Reference:
    """What a name of a version stands for. Raises UnknownReference."""
    found = newest.references.get(tag)
    if found is None:
        raise UnknownReference(
            expected=f"{state.name} to have a version named {tag}",
            found=", ".join(sorted(newest.references)) or "no named version",
            action="Use one of these names: lakemerge_history shows them.",
        )
    return found


def _named(kernel: Kernel, state: TableState, newest: Manifest, tag: str) -> Manifest:
    try:
        return kernel.manifest(state, reference_of(state, newest, tag).txn)
    except CorruptTable as error:
        raise _vacuumed(kernel, state, newest, f"the version named {tag}") from error


def _numbered(kernel: Kernel, state: TableState, newest: Manifest, version: int) -> Manifest:
    if version > newest.version or version < 0:
        raise VersionNotFound(
            expected=f"{state.name} to have a version {version}",
            found=f"{_there(kernel, state, newest)}, of the table that has this name now",
            action="Use one of these. A table that was dropped and made again counts from 1 again.",
        )
    chain = commits(kernel.files, state.layout, newest)  # each is read when it is asked for
    for commit in itertools.chain(chain, _aside(kernel, state, newest)):
        if commit.version == version:
            try:
                return kernel.manifest(state, commit.txn)
            except CorruptTable:
                break  # vacuumed in this moment
    raise _vacuumed(kernel, state, newest, f"version {version}")


def _at(kernel: Kernel, state: TableState, newest: Manifest, time: datetime.datetime) -> Manifest:
    now = kernel.clock.now()
    if time > now:
        raise TimeInFuture(
            expected=f"a time that is over, to read {state.name} as it was then",
            found=f"{time.isoformat()}; it is {now.isoformat(timespec='seconds')}",
            action="Give an earlier time, with its zone: a time without one is in UTC.",
        )
    oldest = newest
    for commit in commits(kernel.files, state.layout, newest):
        oldest = commit
        if datetime.datetime.fromisoformat(commit.committed_at) <= time:
            return kernel.manifest(state, commit.txn)
    why = "the table was made then" if oldest.parent is None else "older ones are vacuumed"
    raise TimeBeforeHistory(
        expected=f"a version of {state.name} that was committed by {time.isoformat()}",
        found=f"that the oldest one, version {oldest.version}, is of {oldest.committed_at}: {why}",
        action="Give a later time, or the number or the name of a version that is kept.",
    )


def _aside(kernel: Kernel, state: TableState, newest: Manifest) -> Iterator[Manifest]:
    """The versions that a name keeps, whether vacuum has deleted others between them and the newest or not."""
    for txn in sorted({one.txn for one in newest.references.values()}):
        try:
            yield kernel.manifest(state, txn)
        except CorruptTable:
            continue  # gone: it got its name while a vacuum was at work


def _there(kernel: Kernel, state: TableState, newest: Manifest) -> str:
    """The versions that are there, in words."""
    *_, oldest = commits(kernel.files, state.layout, newest)
    chain = f"versions {oldest.version} to {newest.version}" if oldest.version < newest.version else ""
    named = {one.txn: one.version for one in _aside(kernel, state, newest)}
    others = [
        f"{named[one.txn]} ({tag})"
        for tag, one in sorted(newest.references.items())
        if one.txn in named and named[one.txn] < oldest.version
    ]
    return " and ".join([chain or f"version {newest.version}", *others])


def _vacuumed(kernel: Kernel, state: TableState, newest: Manifest, what: str) -> VersionVacuumed:
    return VersionVacuumed(
        expected=f"{what} of {state.name} to be kept",
        found=_there(kernel, state, newest),
        action="Use one of these. What was vacuumed is gone; a tag keeps a version, for a time or for good.",
    )
