"""The commits of a table."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

from lakemerge.kernel.kernel import Kernel
from lakemerge.kernel.ports.names import TableName
from lakemerge.kernel.table.manifest import Manifest
from lakemerge.kernel.table.manifests import commits, lineage


def history(kernel: Kernel, name: TableName, limit: int | None = None) -> list[Manifest]:
    """The table's commits, the newest first. Empty for a table that was never adopted.

    The list ends early where vacuum has removed older manifests.
    """
    return list(itertools.islice(each_version(kernel, name), limit))


def each_version(kernel: Kernel, name: TableName) -> Iterator[Manifest]:
    """As :func:`history`, each read when it is asked for: all at once take much memory, with many partitions."""
    state = kernel.current_state(name)
    if state is not None:
        yield from lineage(kernel.files, state.layout, kernel.manifest(state))


def commits_of(kernel: Kernel, name: TableName) -> Iterator[Manifest]:
    """As :func:`each_version`, with the states of no more partitions than each commit has written."""
    state = kernel.current_state(name)
    if state is not None:
        yield from commits(kernel.files, state.layout, kernel.manifest(state))


def newest_commit(
    kernel: Kernel, name: TableName, matches: Callable[[Manifest], bool], most: int
) -> Manifest | None:
    """The newest of a table's commits that matches; ``None`` if none does.

    Args:
        most: at most this many are looked at, the newest first.
    """
    return next(filter(matches, itertools.islice(commits_of(kernel, name), most)), None)
