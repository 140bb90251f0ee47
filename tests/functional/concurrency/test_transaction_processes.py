"""A program that is killed in the commit of a transaction: in both tables or in none."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bounded import MOST_SECONDS
from kernel.servers import MetastoreServer
from kernel.support import shown
from lakemerge.kernel import Jvm, Kernel, TableName, as_of_group, ports_of

_PROGRAM = Path(__file__).with_name("transaction_process.py")


@pytest.mark.slow
@pytest.mark.usefixtures("bare_gateway")
@pytest.mark.parametrize(("step", "stands"), [("table claimed", False), ("claimed", True)])
def test_a_killed_transaction_is_in_both_tables_or_in_none(
    server: MetastoreServer, tmp_path: Path, step: str, stands: bool
) -> None:
    schema = f"killed_{step.replace(' ', '_')}"
    address = server.client_conf["hive.metastore.uris"]
    command = [sys.executable, str(_PROGRAM), address, str(tmp_path / "warehouse"), schema, step]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(_PROGRAM.parents[2])},
        capture_output=True,
        text=True,
        timeout=MOST_SECONDS,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr[-4000:]
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
