"""What a real metastore refuses for good is refused before the claim: the table takes the next commit."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bounded import MOST_SECONDS
from kernel.commits import COMMITS
from kernel.servers import MetastoreServer
from kernel.support import (
    COLUMNS,
    KEYS,
    Rows,
    assert_nothing_orphaned,
    create,
    merge,
    rows_of,
    settled,
    stage,
)
from lakemerge.errors import ClaimRefused, LakemergeError, UnsupportedTable
from lakemerge.kernel import HiveColumn, Jvm, Kernel, Settings, TableDefinition, TableName, ports_of
from lakemerge.kernel.maintenance.vacuum import vacuum
from lakemerge.kernel.ports.metastore import Refused

OLD: Rows = {"p=1": ["old"], "p=2": ["old"]}
#: More than the databases of metastores hold for a column's comment.
LONG = "x" * 5000
COMMENTED = (HiveColumn("line", "string", LONG),)


@pytest.fixture(params=["jvm", pytest.param("postgres_jvm", marks=pytest.mark.slow)])
def kernel(request: pytest.FixtureRequest) -> Kernel:
    jvm: Jvm = request.getfixturevalue(request.param)
    return Kernel(ports_of(jvm), Settings(claim_timeout=10))


def change_comment(kernel: Kernel, name: TableName) -> None:
    with kernel.begin(name, "alter") as transaction:
        transaction.set_schema(COMMENTED)
        stage(kernel, transaction, {"p=1": ["new"]})
        transaction.commit()


def change_comment_in_a_group(kernel: Kernel, name: TableName) -> None:
    other = TableName(name.schema, f"{name.name}_other")
    create(kernel, other, OLD)
    with kernel.begin(name, "alter") as one, kernel.begin(other, "merge") as two:
        one.set_schema(COMMENTED)
        for transaction in (one, two):
            stage(kernel, transaction, {"p=1": ["new"]})
        try:
            kernel.commit_together([one, two])
        finally:
            assert rows_of(kernel, other) == OLD
    merge(kernel, other, {"p=1": ["next"]})


def change_type(kernel: Kernel, name: TableName) -> None:
    with kernel.begin(name, "replace") as transaction:
        transaction.replace_all()
        transaction.set_schema((HiveColumn("line", "int", LONG),), KEYS)
        stage(kernel, transaction, {"p=1": ["new"]})
        transaction.commit()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "error"),
    [
        (change_comment, Refused),
        (change_comment_in_a_group, UnsupportedTable),
        (change_type, UnsupportedTable),
    ],
)
@pytest.mark.usefixtures("derby")
def test_a_comment_that_the_database_cannot_hold(
    change: Callable[[Kernel, TableName], None], error: type[LakemergeError], kernel: Kernel, name: TableName
) -> None:
    create(kernel, name, OLD)
    with pytest.raises(error):
        change(kernel, name)
    assert rows_of(kernel, name) == OLD
    assert settled(kernel, name).version == 1
    assert merge(kernel, name, {"p=1": ["next"]}) == 2
    assert_nothing_orphaned(kernel, name)


def test_the_longest_name_of_a_partition_is_taken_and_a_longer_one_refused(
    kernel: Kernel, name: TableName
) -> None:
    keys = tuple(HiveColumn(f"p{number}", "string") for number in range(4))

    def partition(last: int) -> str:
        return "/".join(
            f"{key.name}={'x' * size}" for key, size in zip(keys, (200, 200, 200, last), strict=True)
        )

    longest = 767 - len(partition(0))
    with kernel.create(TableDefinition(name, COLUMNS, keys)) as transaction:
        stage(kernel, transaction, {partition(longest): ["old"]})
        transaction.commit()
    with kernel.begin(name, "merge") as transaction:
        stage(kernel, transaction, {partition(longest + 1): ["new"]})
        with pytest.raises(UnsupportedTable, match="at most 767 characters"):
            transaction.commit()
    assert merge(kernel, name, {partition(longest): ["next"], partition(3): ["next"]}) == 2
    assert_nothing_orphaned(kernel, name)


@pytest.mark.slow
def test_a_claim_that_new_settings_refuse_is_undone_by_an_operator(
    jvm: Jvm, tmp_path: Path, name: TableName
) -> None:
    """A writer dies after its claim, and then the metastore no longer takes the value of its new partition."""
    lenient = MetastoreServer(tmp_path, transaction_tables=False).start()
    try:
        kernel = Kernel(ports_of(jvm_of(jvm, lenient)))
        COMMITS["swap"].prepare(kernel, name)
        before = rows_of(kernel, name)
        gateway = jvm.gateway.gateway_parameters
        job = {
            "conf": lenient.client_conf,
            "gateway": [gateway.port, gateway.auth_token],
            "table": name.name,
            "kind": "swap",
            "step": "claimed",
            "write": None,
        }
        command = [sys.executable, "-m", "kernel.worker", json.dumps(job)]
        died = subprocess.run(command, cwd=Path(__file__).parents[1], timeout=MOST_SECONDS, check=False)
        assert died.returncode == -signal.SIGKILL
    finally:
        lenient.stop()
    # Hive's own switch: a partition is refused if a value of its columns does not match
    settings = {"hive.metastore.partition.name.whitelist.pattern": "[12]"}
    strict = MetastoreServer(tmp_path, settings=settings, transaction_tables=False).start()
    try:
        kernel = Kernel(ports_of(jvm_of(jvm, strict)))
        with pytest.raises(ClaimRefused, match="undo_refused"):
            merge(kernel, name, {"p=1": ["new"]})
        with pytest.raises(ClaimRefused):
            vacuum(kernel, name, dry_run=False)
        assert rows_of(kernel, name) == before
        assert any(line.startswith("undid") for line in kernel.recover(name, undo_refused=True))
        assert rows_of(kernel, name) == before
        with kernel.begin(name, "merge") as transaction:
            stage(kernel, transaction, {"p=1": ["new"], "p=7": ["new"]})
            with pytest.raises(UnsupportedTable, match="whitelist"):
                transaction.commit()
        merge(kernel, name, {"p=1": ["new"]})
        assert rows_of(kernel, name) == {**before, "p=1": ["new"]}
        assert_nothing_orphaned(kernel, name)
    finally:
        strict.stop()


def jvm_of(jvm: Jvm, server: MetastoreServer) -> Jvm:
    """The same JVM, whose clients ask this server."""
    conf = jvm.java.org.apache.hadoop.conf.Configuration(jvm.hadoop_conf)
    for key, value in server.client_conf.items():
        conf.set(key, value)
    return Jvm(jvm.gateway, conf, jvm.hive)
