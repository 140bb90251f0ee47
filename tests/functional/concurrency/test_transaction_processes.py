"""Programs with transactions: killed in a commit, and two at once whose transactions cross."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bounded import next_line
from kernel.servers import MetastoreServer
from kernel.support import shown
from lakemerge.kernel import Jvm, Kernel, TableName, as_of_group, ports_of

_PROGRAM = Path(__file__).with_name("transaction_process.py")
_CROSSING = Path(__file__).with_name("crossing_program.py")
_ROUNDS = 6


@pytest.mark.slow
@pytest.mark.usefixtures("bare_gateway")
@pytest.mark.parametrize(("step", "stands"), [("table claimed", False), ("claimed", True)])
def test_a_killed_transaction_is_in_both_tables_or_in_none(
    server: MetastoreServer, run_killed: Callable[..., None], step: str, stands: bool
) -> None:
    schema = f"killed_{step.replace(' ', '_')}"
    run_killed(_PROGRAM, schema, step)
    kernel = Kernel(ports_of(Jvm.launch(server.client_conf)))
    names = [TableName(schema, table) for table in ("orders", "stock")]
    before = as_of_group(kernel, names)
    assert [manifest.version for manifest in before.values()] == ([2, 2] if stands else [1, 1])
    assert [list(manifest.partitions) for manifest in before.values()] == [
        ["part=p2"] if stands else ["part=p1"],
        ["part=p1", "part=p2"],
    ]
    for name in names:
        kernel.recover(name)
    after = as_of_group(kernel, names)
    for name in names:
        assert after[name].partitions == before[name].partitions, "what a reader saw is what stays"
        assert kernel.current_state(name).claim is None  # type: ignore[union-attr]
        layout = kernel.settled(name)[0].layout
        assert shown(kernel, layout.open) == [], "nothing seems alive"


@pytest.mark.slow
@pytest.mark.usefixtures("bare_gateway")
def test_transactions_that_cross_all_stand_and_pinned_reads_see_whole_ones(
    server: MetastoreServer, tmp_path: Path
) -> None:
    conf = json.dumps(server.spark_conf)
    programs = []
    for number in range(2):
        folder = tmp_path / f"program{number}"
        folder.mkdir()
        arguments = [conf, str(tmp_path / "warehouse"), "crossing", str(number), str(_ROUNDS)]
        with (folder / "log").open("w") as log:
            program = subprocess.Popen(
                [sys.executable, str(_CROSSING), *arguments],
                cwd=folder,
                env={**os.environ, "PYTHONPATH": str(_PROGRAM.parents[2])},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        programs.append(program)
        # the second one finds the tables that the first one has made
        assert next_line(program) == "ready\n", (folder / "log").read_text()[-4000:]
    for program in programs:
        assert program.stdin is not None
        program.stdin.write("go\n")
        program.stdin.flush()
    for number, program in enumerate(programs):
        assert next_line(program) == f"{_ROUNDS}\n", (tmp_path / f"program{number}" / "log").read_text()[
            -4000:
        ]
        program.communicate()
    kernel = Kernel(ports_of(Jvm.launch(server.client_conf)))
    names = [TableName("crossing", table) for table in ("orders", "stock")]
    versions = as_of_group(kernel, names)
    # each transaction is one commit of both
    assert {manifest.version for manifest in versions.values()} == {2 * _ROUNDS}
    assert [sorted(manifest.partitions) for manifest in versions.values()] == 2 * [
        sorted(f"part=p{ts}" for ts in range(_ROUNDS))
    ]
