"""The kernel's client against a real metastore: names as Hive writes them, compare-and-swap, locks."""

from __future__ import annotations

import pytest
from py4j.protocol import Py4JJavaError

from kernel.faults import DeafMetastore, HookedDeafMetastore, HookedMetastore, lost
from kernel.support import assert_whole, create, merge, rows_of, settled
from lakemerge.errors import ClaimHeld, CommitConflict, MetastoreError
from lakemerge.kernel import Jvm, Kernel, Settings, TableName, ports_of
from lakemerge.kernel.jvm import HiveMetastore
from lakemerge.kernel.ports.metastore import Refused, ReplyLost, ValueChanged
from lakemerge.kernel.ports.names import escape, partition_name, partition_values
from lakemerge.kernel.table.definition import VERSION, with_parameters

VALUES = [
    "plain",
    "a b",
    " led and trailed ",
    "a/b",
    "a=b=c",
    "100%",
    "%2F",
    "it's",
    'say "x"',
    "back\\slash",
    "{x}[y]^z",
    "a:b*c?d#e",
    "tab\there",
    "line\nbreak",
    "\x01\x1f\x7f",
    "naïve 日本 😀",
    "__HIVE_DEFAULT_PARTITION__",
    "2026-11-21 10:00:00",
]


@pytest.mark.parametrize("value", VALUES)
def test_partitions_are_named_as_hive_names_them(value: str, jvm: Jvm) -> None:
    warehouse = jvm.java.org.apache.hadoop.hive.metastore.Warehouse
    assert escape(value) == jvm.java.org.apache.hadoop.hive.common.FileUtils.escapePathName(value)
    pairs = jvm.java.java.util.LinkedHashMap()
    pairs.put("p", value)
    pairs.put("q", "2")
    name = partition_name(["p", "q"], [value, "2"])
    assert name == warehouse.makePartName(pairs, False)
    assert partition_values(name) == list(warehouse.getPartValuesFromPartName(name)) == [value, "2"]


@pytest.mark.usefixtures("derby")
def test_every_value_survives_a_commit(kernel: Kernel, name: TableName) -> None:
    rows = {partition_name(["p"], [value]): [value] for value in VALUES}
    create(kernel, name, rows)
    assert rows_of(kernel, name) == rows
    merge(kernel, name, {part: ["new"] for part in rows})
    assert rows_of(kernel, name) == {part: ["new"] for part in rows}
    assert_whole(kernel, name)


@pytest.mark.usefixtures("compares")
def test_compare_and_swap_is_found(jvm: Jvm, kernel: Kernel, name: TableName) -> None:
    create(kernel, name, {"": ["a"]})
    before = kernel.table(name)
    assert HiveMetastore(jvm).probe_compare_and_swap(name)
    assert kernel.table(name) == before


def test_a_metastore_that_does_not_compare_is_found(jvm: Jvm, kernel: Kernel, name: TableName) -> None:
    create(kernel, name, {"": ["a"]})
    before = kernel.table(name)
    assert not DeafMetastore(jvm).probe_compare_and_swap(name)
    assert kernel.table(name) == before


@pytest.mark.usefixtures("compares")
def test_compare_and_swap_refuses_another_value(kernel: Kernel, name: TableName) -> None:
    create(kernel, name, {"": ["a"]})
    other = with_parameters(kernel.table(name), {VERSION: "99"})
    with pytest.raises(ValueChanged):
        kernel.metastore.alter_table(name, other, expected=(VERSION, "7"))
    assert settled(kernel, name).version == 1


def test_locks_stand_in_for_compare_and_swap(
    jvm: Jvm, name: TableName, caplog: pytest.LogCaptureFixture
) -> None:
    deaf = Kernel(ports_of(jvm, metastore=DeafMetastore(jvm)))
    create(deaf, name, {"p=1": ["a"], "p=2": ["b"]})
    assert merge(deaf, name, {"p=1": ["a2"]}) == 2
    assert "HIVE-26882" in caplog.text
    other = Kernel(ports_of(jvm, metastore=DeafMetastore(jvm)))
    txn = deaf.begin(name, "merge")
    txn.read(["p=2"])
    assert merge(other, name, {"p=2": ["b2"]}) == 3
    deaf.files.write_text(f"{txn.stage_directory}/p=2/part-0.orc", "lost")
    txn.add_staged()
    with pytest.raises(CommitConflict):
        txn.commit()
    txn.abort()
    assert rows_of(deaf, name) == {"p=1": ["a2"], "p=2": ["b2"]}
    assert_whole(deaf, name)


def locks_of(jvm: Jvm, name: TableName) -> int:
    """How many locks the metastore knows of on a table."""
    request = jvm.hive.row("ShowLocksRequest")
    locks = HiveMetastore(jvm)._client().showLocks(request).getLocks()
    return sum(str(lock.getTablename()) == name.name for lock in locks)


@pytest.mark.parametrize("call", ["lock", "checkLock", "alter_table", "unlock"])
def test_lost_replies_under_locks(call: str, jvm: Jvm, kernel: Kernel, name: TableName) -> None:
    create(kernel, name, {"": ["a"]})
    losses = 1

    def after(made: str) -> None:
        nonlocal losses
        if made == call and losses:
            losses -= 1
            raise lost(call)

    locking = Kernel(ports_of(jvm, metastore=HookedDeafMetastore(jvm, after=after)))
    assert merge(locking, name, {"": ["b"]}) == 2
    assert losses == 0
    assert rows_of(kernel, name) == {"": ["b"]}
    assert settled(kernel, name).version == 2
    # a write without an answer may still be carried out: until it cannot, its lock keeps others away
    assert locks_of(jvm, name) == (1 if call == "alter_table" else 0)


def test_a_lock_held_by_another_is_waited_for_and_named(
    jvm: Jvm, kernel: Kernel, name: TableName, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lakemerge.kernel.protocol.versions._LOCK_SECONDS", 1.0)
    create(kernel, name, {"": ["a"]})
    held = kernel.metastore.lock(name, user="another", host="elsewhere")
    locking = Kernel(ports_of(jvm, metastore=DeafMetastore(jvm)), Settings(claim_timeout=3))
    try:
        with pytest.raises(ClaimHeld, match="lock"):
            merge(locking, name, {"": ["b"]})
    finally:
        kernel.metastore.unlock(held)
    assert settled(kernel, name).version == 1
    assert locks_of(jvm, name) == 0
    assert merge(locking, name, {"": ["b"]}) == 2


def test_reads_are_repeated_when_the_connection_breaks(jvm: Jvm, kernel: Kernel, name: TableName) -> None:
    create(kernel, name, {"": ["a"]})
    calls = 0

    def before(call: str) -> None:
        nonlocal calls
        calls += 1
        if calls < 3:
            raise lost(call)

    assert HookedMetastore(jvm, before=before).get_table(name) is not None
    assert calls == 3


def test_reads_are_not_repeated_for_ever(jvm: Jvm, name: TableName) -> None:
    def before(call: str) -> None:
        raise lost(call)

    with pytest.raises(ReplyLost):
        HookedMetastore(jvm, before=before).get_table(name)


def test_a_metastore_of_another_release_is_named(jvm: Jvm) -> None:
    unknown = jvm.hive.new("org.apache.thrift.TApplicationException", 1, "Invalid method name: 'get_table'")
    metastore = HiveMetastore(jvm)

    def fail(client: object) -> None:
        raise Py4JJavaError("refused", unknown)

    with pytest.raises(MetastoreError, match=r"spark\.sql\.hive\.metastore\.version") as caught:
        metastore._read("getTable", fail)
    assert not isinstance(caught.value, ReplyLost)  # nothing was sent that could still be carried out


def test_an_unreachable_metastore_is_named(jvm: Jvm, name: TableName) -> None:
    conf = jvm.java.org.apache.hadoop.conf.Configuration(jvm.hadoop_conf)
    conf.set("hive.metastore.uris", "thrift://localhost:1")
    conf.set("hive.metastore.connect.retries", "1")
    conf.set("hive.metastore.client.connect.retry.delay", "0s")
    with pytest.raises(MetastoreError, match=r"thrift://localhost:1.*Start it"):
        HiveMetastore(Jvm(jvm.gateway, conf, jvm.hive)).get_table(name)


def test_a_refusal_tells_its_kind(kernel: Kernel) -> None:
    with pytest.raises(Refused, match="nowhere") as refusal:
        kernel.metastore.database_location("nowhere")
    assert refusal.value.kind == "NoSuchObjectException"
