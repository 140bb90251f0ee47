"""Programs that are killed in the commit of a statement: all that it says has been done, or nothing."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pyarrow.orc
import pytest

from functional.concurrency.statement_process import OPTIONS
from kernel.servers import MetastoreServer
from kernel.support import assert_whole, locations
from lakemerge.kernel import Jvm, Kernel, TableName, ports_of

_PROGRAM = Path(__file__).with_name("statement_process.py")
_SWAP = ("staged", "manifest written", "claimed", "registered", "swapped", "dropped")
_CASES = [
    *(("plain", step) for step in _SWAP),
    ("keyed", "claimed"),
    ("keyed", "swapped"),
    *(("merge on read", step) for step in ("claimed", "side data published", "deltas shown")),
]
OLD = [("p1", 1, "a"), ("p2", 2, "b"), ("p2", 3, "c")]
NEW = [("p2", 2, "b"), ("p2", 4, "new"), ("p3", 1, "a")]


def stored(kernel: Kernel, name: TableName) -> list[tuple[str, int, str]]:
    """All rows, read as an engine without lakemerge reads them."""
    found = []
    for partition, location in locations(kernel, name).items():
        for file in kernel.files.walk(location):
            content = io.BytesIO(kernel.files.last_bytes(file.path, file.size, file.size))
            for row in pyarrow.orc.read_table(content).to_pylist():
                found.append((partition.removeprefix("part="), row["id"], row["name"]))
    return sorted(found)


@pytest.mark.slow
@pytest.mark.usefixtures("bare_gateway")
@pytest.mark.parametrize(("kind", "step"), _CASES)
def test_a_killed_statement_is_done_or_not(
    server: MetastoreServer, run_killed: Callable[..., None], kind: str, step: str
) -> None:
    schema = f"killed_{list(OPTIONS).index(kind)}_{step.replace(' ', '_')}"
    run_killed(_PROGRAM, schema, kind, step)
    kernel, name = Kernel(ports_of(Jvm.launch(server.client_conf))), TableName(schema, "t")
    stands = step not in ("staged", "manifest written")
    if step == "claimed" and kind == "plain":
        assert stored(kernel, name) == OLD, "what readers see until the swap"
    if step in ("swapped", "dropped") and kind == "plain":
        assert stored(kernel, name) == NEW
    kernel.recover(name)
    state, manifest = kernel.settled(name)
    assert state.claim is None
    # the rows of a delta are beside the base
    if kind != "merge on read":
        assert stored(kernel, name) == (NEW if stands else OLD)
        assert_whole(kernel, name)
    assert (manifest.operation == "merge into") == stands
