"""Commits to a metastore behind a proxy that cuts, keeps and repeats calls, and to one that stops for a while."""

from __future__ import annotations

import itertools
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import pytest

from kernel.faults import DeafMetastore
from kernel.proxy import Proxy
from kernel.servers import MetastoreServer
from kernel.support import (
    COLUMNS,
    KEYS,
    NO_RETENTION,
    Rows,
    append,
    assert_nothing_orphaned,
    assert_whole,
    compact,
    create,
    create_appendable,
    locations,
    merge,
    rows_of,
    settled,
    stage,
)
from lakemerge.errors import ClaimHeld, CommitInDoubt, CommitUnfinished, LakemergeError
from lakemerge.kernel import HiveColumn, Jvm, Kernel, Settings, TableDefinition, TableName, ports_of
from lakemerge.kernel.jvm import HiveMetastore
from lakemerge.kernel.maintenance.drop import drop
from lakemerge.kernel.maintenance.vacuum import vacuum
from lakemerge.kernel.ports.metastore import HiveTable, Metastore, Storage
from lakemerge.kernel.protocol import swaps

pytestmark = pytest.mark.slow

_SETTINGS = Settings(claim_timeout=20)
_OLD: Rows = {"p=1": ["old"], "p=2": ["old"]}
#: Seconds after which an impatient client gives up.
_PATIENCE = 2
_ALWAYS = 1000


@dataclass
class Site:
    """A metastore, a proxy before it, and kernels on both sides.

    Attributes:
        jvm: whose clients ask the metastore itself.
        behind: asks through the proxy.
        straight: does not.
    """

    server: MetastoreServer
    jvm: Jvm
    proxy: Proxy

    def __post_init__(self) -> None:
        self.behind = self.kernel()
        self.straight = Kernel(ports_of(self.jvm), _SETTINGS)
        self.behind.metastore.compares = True

    def client(self, **conf: str) -> Jvm:
        """The same JVM, whose clients ask through the proxy, and have further properties of a metastore's client."""
        hadoop_conf = self.jvm.java.org.apache.hadoop.conf.Configuration(self.jvm.hadoop_conf)
        conf = {"uris": f"thrift://localhost:{self.proxy.port}", **conf}
        for name, value in conf.items():
            hadoop_conf.set(f"hive.metastore.{name.replace('_', '.')}", value)
        return Jvm(self.jvm.gateway, hadoop_conf, self.jvm.hive)

    def kernel(self, of: Callable[[Jvm], Metastore] = HiveMetastore, **conf: str) -> Kernel:
        client = self.client(**conf)
        return Kernel(ports_of(client, metastore=of(client)), _SETTINGS)


@contextmanager
def site_of(server: MetastoreServer, jvm: Jvm) -> Iterator[Site]:
    proxy = Proxy(server.port)
    yield Site(server, jvm, proxy)
    proxy.stop()


@pytest.fixture(scope="module")
def derby_site(server: MetastoreServer, jvm: Jvm) -> Iterator[Site]:
    with site_of(server, jvm) as site:
        yield site


@pytest.fixture(scope="module")
def postgres_site(postgres_server: MetastoreServer, postgres_jvm: Jvm) -> Iterator[Site]:
    with site_of(postgres_server, postgres_jvm) as site:
        yield site


@pytest.fixture(params=["derby_site", "postgres_site"])
def site(request: pytest.FixtureRequest) -> Site:
    site: Site = request.getfixturevalue(request.param)
    site.proxy.clear()
    return site


def swap(kernel: Kernel, name: TableName, rows: Rows, gone: str = "p=2") -> int:
    """A commit that replaces partitions, adds some and removes one."""
    with kernel.begin(name, "merge") as transaction:
        transaction.read([*rows, gone])
        stage(kernel, transaction, rows)
        transaction.remove([gone])
        return transaction.commit()


def texts_of(site: Site, name: TableName) -> list[str]:
    return sorted(text for texts in rows_of(site.straight, name).values() for text in texts)


# -- each call once --------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", ["lose_answer", "lose_request", "repeat"])
def test_each_call_may_be_cut_or_repeated_once(site: Site, name: TableName, fault: str) -> None:
    """Creation, claim, registration, swap, drop of a partition, settling; then the drop."""

    def arm(*calls: str) -> None:
        assert site.proxy.pending == []
        for call in calls:
            getattr(site.proxy, fault)(call)

    arm("create_table", "add_partitions", "alter_partitions", "alter_table")
    assert create(site.behind, name, _OLD) == 1
    assert rows_of(site.straight, name) == _OLD
    arm("alter_table", "alter_table", "add_partitions", "alter_partitions", "drop_partition")
    assert swap(site.behind, name, {"p=1": ["new"], "p=3": ["new"]}) == 2
    assert site.proxy.pending == []
    assert rows_of(site.straight, name) == {"p=1": ["new"], "p=3": ["new"]}
    assert merge(site.straight, name, {"p=3": ["newer"]}) == 3
    assert_whole(site.straight, name)
    assert_nothing_orphaned(site.straight, name)
    root = settled(site.straight, name).layout.root
    arm("alter_table", "drop_table")
    drop(site.behind, name)
    assert site.proxy.pending == []
    assert site.straight.metastore.get_table(name) is None
    assert not site.straight.files.exists(root)


@pytest.mark.parametrize("fault", ["lose_request", "lose_answer", "repeat"])
def test_appends_and_unpartitioned_tables_may_be_cut_or_repeated_once(
    site: Site, name: TableName, fault: str
) -> None:
    whole = TableName(name.schema, f"{name.name}_whole")
    create_appendable(site.straight, name, {"p=1": ["one"]})
    create(site.straight, whole, {"": ["old"]})
    for call in ("alter_table", "alter_table", "add_partitions"):
        getattr(site.proxy, fault)(call)
    assert append(site.behind, name, {"p=1": ["two"]}) == 2
    assert site.proxy.pending == []
    assert texts_of(site, name) == ["one", "two"]
    getattr(site.proxy, fault)("alter_table")
    assert merge(site.behind, whole, {"": ["new"]}) == 2
    assert site.proxy.pending == []
    assert rows_of(site.straight, whole) == {"": ["new"]}
    for table in (name, whole):
        assert_nothing_orphaned(site.straight, table)


@pytest.mark.parametrize("fault", ["lose_answer", "lose_request", "repeat"])
def test_the_first_call_of_a_process_finds_out_what_the_metastore_does(
    site: Site, name: TableName, fault: str
) -> None:
    create(site.straight, name, _OLD)
    kernel = site.kernel()
    getattr(site.proxy, fault)("alter_table")
    assert merge(kernel, name, {"p=1": ["new"]}) == 2
    assert kernel.metastore.compares
    assert site.proxy.pending == []
    assert_nothing_orphaned(site.straight, name)


@pytest.mark.parametrize("call", ["create_table", "alter_table", "drop_table"])
@pytest.mark.parametrize("fault", ["lose_request", "lose_answer", "repeat"])
def test_the_first_call_of_a_process_may_be_to_a_view(
    site: Site, name: TableName, call: str, fault: str
) -> None:
    """Then another table is made, and dropped again, to find out."""
    view = HiveTable(name, "VIRTUAL_VIEW", Storage(columns=COLUMNS), view_text="select 1")
    site.straight.metastore.create_table(view)
    kernel = site.kernel()
    getattr(site.proxy, fault)(call)
    drop(kernel, name)
    assert kernel.metastore.compares
    assert site.proxy.pending == []
    left = site.straight.metastore.table_summaries(name.schema)
    assert not [one.name for one in left if one.name.startswith(name.name)]


# -- never an answer, or never carried out ---------------------------------------------------------


@pytest.mark.parametrize(
    "call", ["alter_partitions", "create_table", "alter_table", "add_partitions", "drop_partition"]
)
def test_what_never_arrives_is_told_and_the_table_takes_the_next_commit(
    site: Site, name: TableName, call: str
) -> None:
    """Until its claim a commit is in doubt, and whoever comes next knows that it has not been; then it stands."""
    error = CommitInDoubt if call in ("create_table", "alter_table") else CommitUnfinished
    if call != "create_table":
        create(site.straight, name, _OLD)
    site.proxy.lose_request(call, _ALWAYS)
    work = create if call == "create_table" else swap
    with pytest.raises(error):
        work(site.behind, name, _OLD if call == "create_table" else {"p=1": ["mine"], "p=3": ["mine"]})
    site.proxy.clear()
    if call == "create_table":
        assert site.straight.metastore.get_table(name) is None
        create(site.straight, name, _OLD)
    else:
        merge(site.straight, name, {"p=4": ["next"]})
    stood = {"p=1": ["mine"], "p=3": ["mine"]} if error is CommitUnfinished else _OLD
    more = {} if call == "create_table" else {"p=4": ["next"]}
    assert rows_of(site.straight, name) == {**stood, **more}
    assert_nothing_orphaned(site.straight, name)


def test_answers_that_are_always_cut_off_keep_no_commit_from_standing(site: Site, name: TableName) -> None:
    calls = ("create_table", "alter_table", "add_partitions", "alter_partitions", "drop_partition")
    for call in calls:
        site.proxy.lose_answer(call, _ALWAYS)
    assert create(site.behind, name, _OLD) == 1
    site.proxy.traffic.clear()
    assert swap(site.behind, name, {"p=1": ["new"], "p=3": ["new"]}) == 2
    sent = [one for one in site.proxy.traffic if one.call.startswith("alter_partitions")]
    assert len(sent) == 1
    assert rows_of(site.straight, name) == {"p=1": ["new"], "p=3": ["new"]}
    site.proxy.clear()
    assert_nothing_orphaned(site.straight, name)


def test_messages_are_no_longer_than_they_are_counted_to_be(
    site: Site, name: TableName, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Thrift ends at 100 MiB: what is sent or read is counted, and sent or read in parts of less than half as much."""
    columns = tuple(HiveColumn(f"column_{number}", "decimal(18,2)", "what it is for") for number in range(30))
    partitions = {f"p={number}": ["row"] for number in range(20)}
    with site.straight.create(TableDefinition(name, columns, KEYS)) as transaction:
        stage(site.straight, transaction, partitions)
        transaction.commit()
    rows = site.straight.metastore.partitions(name, list(partitions))
    counted = sum(map(swaps._size_of, rows))
    monkeypatch.setattr(swaps, "_MOST_BYTES", counted // 3)
    monkeypatch.setattr("lakemerge.kernel.jvm.metastore._FIRST_PARTITIONS", 4)
    monkeypatch.setattr("lakemerge.kernel.jvm.metastore._BYTES_OF_ANSWER", counted // 3)
    site.proxy.traffic.clear()
    merge(site.behind, name, {part: ["new"] for part in partitions})
    sent = [one.sent for one in site.proxy.traffic if one.call.startswith("alter_partitions")]
    read = [one.answered for one in site.proxy.traffic if one.call.startswith("get_partitions_by_names")]
    assert len(sent) > 2
    assert len(read) > 2
    assert max(sent) < 2 * swaps._MOST_BYTES
    assert max(read) < 2 * swaps._MOST_BYTES
    assert_whole(site.straight, name)


# -- carried out late ------------------------------------------------------------------------------


def test_a_late_claim_is_refused(site: Site, name: TableName) -> None:
    create(site.straight, name, _OLD)
    site.proxy.hold("alter_table")
    assert merge(site.behind, name, {"p=1": ["mine"]}) == 2
    merge(site.straight, name, {"p=1": ["newer"]})
    assert len(site.proxy.release()) == 1
    assert rows_of(site.straight, name) == {"p=1": ["newer"], "p=2": ["old"]}
    assert settled(site.straight, name).version == 3
    assert_nothing_orphaned(site.straight, name)


@pytest.mark.parametrize("look", ["vacuum", "commit", "recover"])
def test_a_late_swap_is_undone_and_vacuum_spares_what_it_shows(
    site: Site, name: TableName, look: str
) -> None:
    create(site.straight, name, _OLD)
    site.proxy.hold("alter_partitions")
    assert merge(site.behind, name, {"p=1": ["mine"]}) == 2  # it was sent again
    merge(site.straight, name, {"p=1": ["newer"]})
    assert len(site.proxy.release()) == 1
    assert rows_of(site.straight, name) == {"p=1": ["mine"], "p=2": ["old"]}
    if look == "vacuum":
        vacuum(site.straight, name, retention=NO_RETENTION, dry_run=False, allow_short_retention=True)
    elif look == "recover":
        site.straight.recover(name)
    else:
        merge(site.straight, name, {"p=2": ["next"]})
    expected = {"p=1": ["newer"], "p=2": ["next"] if look == "commit" else ["old"]}
    assert rows_of(site.straight, name) == expected
    assert_nothing_orphaned(site.straight, name)


def test_a_late_append_beside_a_compaction_doubles_no_row(site: Site, name: TableName) -> None:
    create_appendable(site.straight, name, {"p=1": ["one"]})
    site.proxy.hold("add_partitions")
    append(site.behind, name, {"p=1": ["two"]})
    append(site.straight, name, {"p=1": ["three"]})
    compact(site.straight, name)
    site.proxy.release()
    append(site.straight, name, {"p=2": ["four"]})
    assert texts_of(site, name) == ["four", "one", "three", "two"]
    assert_nothing_orphaned(site.straight, name)


def test_a_partition_that_is_dropped_late_is_there_again(site: Site, name: TableName) -> None:
    create(site.straight, name, _OLD)
    site.proxy.hold("drop_partition")
    swap(site.behind, name, {"p=1": ["mine"]})
    merge(site.straight, name, {"p=2": ["again"]})
    assert len(site.proxy.release()) == 1
    assert list(locations(site.straight, name)) == ["p=1"]
    merge(site.straight, name, {"p=3": ["next"]})
    assert rows_of(site.straight, name) == {"p=1": ["mine"], "p=2": ["again"], "p=3": ["next"]}
    assert_nothing_orphaned(site.straight, name)


@pytest.mark.parametrize("call", ["drop_table", "alter_table"])
def test_a_late_drop_spares_the_next_table_of_the_name(site: Site, name: TableName, call: str) -> None:
    create(site.straight, name, _OLD)
    site.proxy.hold(call)
    drop(site.behind, name)
    create(site.straight, name, {"p=1": ["next"]})
    assert len(site.proxy.release()) == 1
    assert rows_of(site.straight, name) == {"p=1": ["next"]}
    assert merge(site.straight, name, {"p=1": ["more"]}) == 2
    assert_nothing_orphaned(site.straight, name)


@pytest.mark.parametrize("meanwhile", ["nothing", "another table", "another table, dropped"])
def test_a_creation_that_is_never_answered_is_in_doubt_and_may_come_late(
    site: Site, name: TableName, meanwhile: str
) -> None:
    site.proxy.hold("create_table", _ALWAYS)
    with pytest.raises(CommitInDoubt):
        create(site.behind, name, _OLD)
    if meanwhile != "nothing":
        create(site.straight, name, {"p=1": ["other"]})
    if meanwhile == "another table, dropped":
        drop(site.straight, name)
    assert site.proxy.release()
    if meanwhile == "another table, dropped":
        create(site.straight, name, {"p=1": ["other"]})
    merge(site.straight, name, {"p=3": ["more"]})
    expected = _OLD if meanwhile == "nothing" else {"p=1": ["other"]}
    assert rows_of(site.straight, name) == {**expected, "p=3": ["more"]}
    assert_nothing_orphaned(site.straight, name)


def test_a_swap_that_is_repeated_after_its_answer_is_put_right_by_vacuum(site: Site, name: TableName) -> None:
    create(site.straight, name, _OLD)
    for call in ("alter_table", "alter_table", "alter_partitions"):
        site.proxy.echo(call)
    assert merge(site.behind, name, {"p=1": ["mine"]}) == 2
    merge(site.straight, name, {"p=1": ["newer"]})
    assert len(site.proxy.release()) == 3
    assert rows_of(site.straight, name) == {"p=1": ["mine"], "p=2": ["old"]}
    vacuum(site.straight, name, retention=NO_RETENTION, dry_run=False, allow_short_retention=True)
    assert rows_of(site.straight, name) == {"p=1": ["newer"], "p=2": ["old"]}
    assert settled(site.straight, name).version == 3
    assert_nothing_orphaned(site.straight, name)


# -- by locks --------------------------------------------------------------------------------------


@pytest.fixture
def _short_locks(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is sent here under a lock, and not released by the test, is carried out at once."""
    monkeypatch.setattr("lakemerge.kernel.protocol.versions._UNANSWERED_SECONDS", 0.5)


@pytest.mark.usefixtures("_short_locks")
@pytest.mark.parametrize("fault", ["lose_answer", "lose_request", "repeat"])
def test_calls_of_a_lock_may_be_cut_or_repeated_once(site: Site, name: TableName, fault: str) -> None:
    create(site.straight, name, _OLD)
    kernel = site.kernel(DeafMetastore)
    kernel.metastore.compares = False
    # a lock that is taken twice is waited for until the metastore gives the first one up
    calls = [
        call
        for call in ("lock", "check_lock", "alter_table", "unlock")
        if (fault, call) != ("repeat", "lock")
    ]
    for number, call in enumerate(calls):
        getattr(site.proxy, fault)(call)
        assert merge(kernel, name, {"p=1": [call]}) == number + 2
        assert site.proxy.pending == []
        assert rows_of(site.straight, name) == {"p=1": [call], "p=2": ["old"]}
    assert_nothing_orphaned(site.straight, name)


def test_a_write_without_an_answer_keeps_its_lock_against_others(
    site: Site, name: TableName, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lakemerge.kernel.protocol.versions._LOCK_SECONDS", 1.0)
    create(site.straight, name, {"": ["old"]})
    kernels = [site.kernel(DeafMetastore) for _ in range(2)]
    for kernel in kernels:
        kernel.metastore.compares = False
    site.proxy.hold("alter_table")
    assert merge(kernels[0], name, {"": ["mine"]}) == 2  # it was sent again
    with kernels[1].begin(name, "merge") as other:
        stage(kernels[1], other, {"": ["other"]})
        with pytest.raises(ClaimHeld, match="lock"):
            other.commit()
    assert len(site.proxy.release()) == 1
    assert rows_of(site.straight, name) == {"": ["mine"]}
    assert merge(site.straight, name, {"": ["next"]}) == 3
    assert_nothing_orphaned(site.straight, name)


# -- a metastore that stops ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "call", ["alter_table", "create_table", "add_partitions", "alter_partitions", "drop_partition"]
)
def test_a_metastore_that_stops_carries_out_later_what_impatient_clients_have_sent(
    site: Site, name: TableName, call: str
) -> None:
    if call != "create_table":
        create(site.straight, name, _OLD)
    impatient = site.kernel(client_socket_timeout=f"{_PATIENCE}s")
    impatient.metastore.compares = True
    with ExitStack() as after:

        def stop() -> None:
            site.server.send_signal(signal.SIGSTOP)
            going_on = threading.Timer(1.5 * _PATIENCE, site.server.send_signal, [signal.SIGCONT])
            going_on.start()
            after.callback(going_on.join)

        site.proxy.before(call, stop)
        if call == "create_table":
            assert create(impatient, name, _OLD) == 1
        else:
            assert swap(impatient, name, {"p=1": ["mine"], "p=3": ["mine"]}) == 2
    assert site.proxy.pending == []
    more = {"p=4": ["next"]}
    merge(site.straight, name, more)
    stood = _OLD if call == "create_table" else {"p=1": ["mine"], "p=3": ["mine"]}
    assert rows_of(site.straight, name) == {**stood, **more}
    assert_nothing_orphaned(site.straight, name)


def test_commits_beside_a_metastore_that_stops_again_and_again(site: Site, name: TableName) -> None:
    """Each is there once, or in doubt, or not at all."""
    create_appendable(site.straight, name, {"p=1": ["first"]})
    impatient = site.kernel(client_socket_timeout=f"{_PATIENCE}s")
    acknowledged, doubtful, over = ["first"], set(), threading.Event()

    def disturb() -> None:
        while not over.wait(_PATIENCE):
            site.server.send_signal(signal.SIGSTOP)
            time.sleep(1.5 * _PATIENCE)
            site.server.send_signal(signal.SIGCONT)

    thread = threading.Thread(target=disturb)
    thread.start()
    try:
        for number in itertools.count():
            text = f"row {number}"
            try:
                append(impatient, name, {"p=1": [text]})
                acknowledged.append(text)
            except LakemergeError:
                doubtful.add(text)
            if len(acknowledged) > 5 or number == 12:
                break
    finally:
        over.set()
        thread.join()
    append(site.straight, name, {"p=2": ["last"]})
    found = texts_of(site, name)
    assert len(found) == len(set(found))
    assert {*acknowledged, "last"} <= set(found) <= {*acknowledged, "last", *doubtful}
    assert len(acknowledged) > 1
    site.straight.recover(name)
    assert_whole(site.straight, name)
