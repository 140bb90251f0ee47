"""What a run of dbt prints where something goes wrong: the error, once, and none of Spark's own logs and stacks."""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import psutil
import pytest

from bounded import MOST_SECONDS, killed_after
from functional.concurrency.conftest import read_until
from functional.concurrency.small_disks import SmallDisks

pytestmark = pytest.mark.slow

# By model: its SQL, and what the message has to say.
MISTAKES = {
    "ambiguous_column": (
        "select id from range(2) as a join range(2) as b on a.id = b.id",
        "AMBIGUOUS_REFERENCE",
    ),
    "division_by_zero": (
        "{{ config(pre_hook='set spark.sql.ansi.enabled=true') }} select 1 div id as x from range(3)",
        "DIVIDE_BY_ZERO",
    ),
    "failing_function": (
        '{{ config(pre_hook="create temporary function broken(x int) returns int '
        "return cast(raise_error('broken on purpose') as int)\") }} "
        "select broken(int(id)) as x from range(3)",
        "broken on purpose",
    ),
    "missing_column": ("select id, nope from range(3)", "`nope` cannot be resolved"),
    "missing_table": ("select * from {{ target.schema }}.nope", "TABLE_OR_VIEW_NOT_FOUND"),
    "no_rights": ("{{ config(location_root='/proc/lakemerge') }} select id from range(3)", "/proc/lakemerge"),
    "no_space": (
        "{{ config(location_root='DISK') }} select id, uuid() as x, uuid() as y from range(100000)",
        "No space left on device",
    ),
    "syntax_error": ("selec id from range(3)", "PARSE_SYNTAX_ERROR"),
    "type_mismatch": ("select array(id) + map(1, 2) as x from range(3)", "DATATYPE_MISMATCH"),
    # the last one: Java ends by it
    "z_out_of_memory": ("select size(sequence(1, 400000000)) as n, id from range(3)", "ran out of memory"),
}
# What Java prints by itself, and no option of Java's or of Spark's keeps it from it.
OF_JAVA = ("WARNING: Using incubator modules", "Terminating due to java.lang.OutOfMemoryError")
SECRETS = {
    "spark.hadoop.fs.s3a.secret.key": "k3y-planted",
    "spark.hadoop.some.database": "jdbc:mysql://hive:passw0rd-planted@db/hive",
}
SMALL_HEAP = {"spark.driver.memory": "600m"}
# in dbt-core 1.11, and from 1.12 on
_FAILURE = re.compile(r"(?:Failure|\[ERROR\]:) in model ")


def test_each_mistake_takes_some_lines(dbt_project: Callable[..., Any], small_disks: SmallDisks) -> None:
    project = dbt_project("mistakes", {**SMALL_HEAP, **SECRETS})
    mistakes = dict(MISTAKES)
    disk = small_disks.try_make("disk", "1m")
    if disk is None:
        del mistakes["no_space"]
    for name, (sql, _) in mistakes.items():
        text = sql.replace("DISK", str(disk and disk.folder))
        project.write(f"models/{name}.sql", "{{ config(materialized='table') }} " + text)
    project.write("models/a_good_one.sql", "{{ config(materialized='table') }} select id from range(3)")
    run = project.start_apart("run")
    java = " ".join(command_of_java(run.pid))
    assert "spark.driver.memory=600m" in java
    assert "planted" not in java, "every user of the machine can read it"
    output, errors = finish(run)
    assert [line for line in errors if not line.startswith(OF_JAVA)] == []
    failures = _FAILURE.split("\n".join(output))[1:]
    told = {text.split(" ")[0]: text for text in failures}
    assert set(told) == set(mistakes)
    for name, (_, expected) in mistakes.items():
        lines = told[name].splitlines()
        assert expected in told[name], told[name]
        assert len(lines) <= 13, told[name]
        assert max(map(len, lines)) <= 700, told[name]


def command_of_java(pid: int) -> list[str]:
    """The command line of the Java of Spark that a process starts."""
    deadline = time.monotonic() + MOST_SECONDS
    while time.monotonic() < deadline:
        with suppress(psutil.NoSuchProcess):
            for child in psutil.Process(pid).children(recursive=True):
                if "org.apache.spark.deploy.SparkSubmit" in (command := child.cmdline()):
                    return command
        time.sleep(0.1)
    raise AssertionError("it starts none")


def finish(process: Any) -> tuple[list[str], list[str]]:
    """The lines that a process that fails writes to standard output and to standard error."""
    with killed_after(process):
        output, errors = process.communicate(timeout=MOST_SECONDS)
    assert process.returncode, output
    return output.splitlines(), errors.splitlines()


ENDLESS = """
{{ config(materialized='table', publish='after_tests') }}
select count(distinct a.id * b.id) as pairs from range(1000000) as a cross join range(1000000) as b
"""


def test_ctrl_c_takes_some_lines(dbt_project: Callable[..., Any]) -> None:
    project = dbt_project("interrupted")
    project.write("models/a_good_one.sql", "{{ config(materialized='table') }} select id from range(3)")
    project.write("models/endless.sql", ENDLESS)
    run = project.start_apart("run")
    before = read_until(run, "2 of 2 START").splitlines()
    run.send_signal(signal.SIGINT)
    output, errors = finish(run)
    assert run.returncode == 2
    assert [line for line in errors if not line.startswith(OF_JAVA)] == []
    assert len(before) <= 12, before
    # dbt's own traceback of a KeyboardInterrupt, which it prints with any adapter
    first, last = (
        next(i for i, line in enumerate(output) if word in line) for word in ("Traceback", "KeyboardI")
    )
    told = [line for line in output[:first] + output[last + 1 :] if line.strip()]
    assert len(told) <= 8, "\n".join(told)
    assert max(map(len, told)) <= 120, told
    assert not any("dbt/adapters/" in line or "py4j" in line for line in output[first:last]), "\n".join(
        output
    )
