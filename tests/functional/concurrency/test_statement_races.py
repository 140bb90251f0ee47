"""Statements of several processes on one table, beside a feed, compactions and vacuums: as if each was alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from bounded import next_line
from engines.plain_spark import PlainSpark
from functional.concurrency.racing_statements import COUNTED, KINDS
from kernel.servers import MetastoreServer
from kernel.support import assert_whole
from lakemerge.kernel import Jvm, Kernel, TableName, ports_of

_PROGRAM = Path(__file__).with_name("racing_statements.py")
_ROLES = ("changes", "changes", "beside")
_ROUNDS = 5


@pytest.mark.slow
@pytest.mark.usefixtures("bare_gateway")
@pytest.mark.parametrize("kind", list(KINDS))
def test_no_row_is_lost_or_doubled(server: MetastoreServer, tmp_path: Path, kind: str) -> None:
    conf, schema, programs = json.dumps(server.spark_conf), f"raced_{kind}", []
    for number, role in enumerate(_ROLES):
        folder = tmp_path / f"program{number}"
        folder.mkdir()
        arguments = [conf, str(tmp_path / "warehouse"), schema, kind, role, str(_ROUNDS)]
        with (folder / "log").open("w") as log:
            program = subprocess.Popen(
                [sys.executable, str(_PROGRAM), *arguments],
                cwd=folder,
                env={**os.environ, "PYTHONPATH": os.pathsep.join([str(_PROGRAM.parents[2]), *sys.path])},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        programs.append(program)
        # the others find the table that the first one has made
        assert next_line(program) == "ready\n", (folder / "log").read_text()[-4000:]
    for program in programs:
        assert program.stdin is not None
        program.stdin.write("go\n")
        program.stdin.flush()
    done: Counter[str] = Counter()
    for number, program in enumerate(programs):
        line = next_line(program)
        assert line, (tmp_path / f"program{number}" / "log").read_text()[-4000:]
        done.update(json.loads(line))
        program.communicate()
    assert (done["counted"], done["given"], done["fed"]) == (2 * _ROUNDS, 2 * _ROUNDS, _ROUNDS)
    kernel, name = Kernel(ports_of(Jvm.launch(server.client_conf))), TableName(schema, "t")
    if kind != "on_read":
        assert_whole(kernel, name)
    rows = PlainSpark(server.spark_conf, tmp_path).sql(f"select id, n from {schema}.t order by id")
    fed = [(-1 - number, 8) for number in reversed(range(_ROUNDS))]
    counted = [(number, done["counted"]) for number in range(COUNTED)]
    given = [(COUNTED + number, 0) for number in range(done["given"])]
    assert [tuple(map(int, row)) for row in rows] == [*fed, *counted, *given]
