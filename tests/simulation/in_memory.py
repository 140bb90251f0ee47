"""The tests of the kernel's ring in memory: those that need neither a metastore's process nor files on a disk.

What they show of commits does not depend on which ports there are. So they look for mutants as the unit tests do.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

import lakemerge.kernel
from kernel import faults
from kernel.meanwhile import Proxy
from lakemerge.kernel.ports import Ports
from lakemerge.testing import World

#: Their files.
TESTS = tuple(
    f"tests/kernel/test_{name}.py"
    for name in (
        "changes",
        "conflicts",
        "consumer",
        "consumer_failures",
        "consumer_properties",
        "faults",
        "foreign",
        "late_writers",
        "refusals",
    )
)
_FIXTURES = ("jvm", "server", "postgres_jvm", "postgres_server", "bare_gateway")
# How Hive names the calls that tests wait for, where it is not as the ports do.
_CALLS = {
    "create_table": "createTable",
    "drop_table": "dropTable",
    "drop_partition": "dropPartition",
    "delete_table_column_statistics": "deleteColumnStatistics",
    "delete_partition_column_statistics": "deleteColumnStatistics",
    "write_text": "write",
    "move": "rename",
    "make_directory": "make",
}


class InMemory:
    """A plugin of pytest that gives each of these tests a world of its own in the place of a JVM's."""

    def __init__(self) -> None:
        self._world = World()
        lakemerge.kernel.ports_of = self._ports  # type: ignore[assignment]  # before the tests are imported
        faults.HookedMetastore = self._hooked("metastore")  # type: ignore[assignment, misc]
        faults.HookedFileSystem = self._hooked("files")  # type: ignore[assignment, misc]

    def pytest_runtest_setup(self) -> None:
        """Begin a world."""
        self._world = World()

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Take away what would start processes."""
        of_kernel = [item for item in session.items if item.nodeid.startswith("tests/kernel/")]
        for name in _FIXTURES if of_kernel else ():
            for fixture in session._fixturemanager.getfixturedefs(name, of_kernel[0]) or ():
                fixture.func, fixture.argnames = (lambda: "in memory"), ()  # type: ignore[misc]

    def _ports(self, _: object, **others: Any) -> Ports:
        return dataclasses.replace(self._world.process(), **others)

    def _hooked(self, port: str) -> Callable[..., Any]:
        def hooked(_: object, before: faults.Hook = _ignore, after: faults.Hook = _ignore) -> Any:
            return _Hooked(getattr(self._world.process(), port), before, after)

        return hooked


class _Hooked(Proxy):
    """Tells of every call before it is made and after it has succeeded."""

    def __init__(self, inner: Any, before: faults.Hook, after: faults.Hook) -> None:
        self._inner, self._before, self._after = inner, before, after

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if not callable(found):
            return found

        def call(*args: Any, **kwargs: Any) -> Any:
            self._before(_CALLS.get(name, name))
            result = found(*args, **kwargs)
            self._after(_CALLS.get(name, name))
            return result

        return call


def _ignore(_: str) -> None:
    return None
