"""The log of compactions: what is told while one runs, when it ends, and when its process dies."""

from __future__ import annotations

import pytest

from kernel import support
from lakemerge.errors import TableNotFound
from lakemerge.kernel import CompactionLog, Kernel, TableName
from lakemerge.testing import World

NAME = TableName("s", "t")


@pytest.fixture
def log(kernel: Kernel) -> CompactionLog:
    support.create(kernel, NAME, {"p=1": ["a"]})
    return CompactionLog(kernel, NAME)


def test_a_run_is_requested_running_and_done(kernel: Kernel, log: CompactionLog) -> None:
    record = log.request("small_files", "operation")
    assert [one.state for one in log.records()] == ["requested"]
    record = log.begin(record, groups=3)
    assert [(one.state, one.groups) for one in log.records()] == [("running", 3)]
    log.end(record)
    (one,) = log.records()
    assert (one.state, one.reason, one.error) == ("done", "operation", "")
    assert one.ended_at >= one.started_at >= one.requested_at > ""
    assert one.seconds is not None
    assert one.as_dict()["seconds"] == one.seconds >= 0
    assert record.seconds is None, "it had not ended"
    assert not kernel.files.list(record_open(log))


def record_open(log: CompactionLog) -> str:
    return log._layout.open


def test_a_failure_says_why(log: CompactionLog) -> None:
    log.end(log.begin(log.request("sort", "operation", ("a",))), "RowsDiffer: 3 and 4")
    (one,) = log.records()
    assert (one.state, one.error, one.order) == ("failed", "RowsDiffer: 3 and 4", ("a",))


def test_what_a_dead_process_was_at_is_failed_and_its_commits_are_told(world: World, kernel: Kernel) -> None:
    support.create(kernel, NAME, {"p=1": ["a"]})
    dying = Kernel(world.process())
    log = CompactionLog(dying, NAME)
    record = log.begin(log.request("small_files", "operation"))
    txn = dying.begin(NAME, "compact", data_change=False)
    support.stage(dying, txn, {"p=1": ["a"]})
    txn.commit()
    log.write(type(record)(**{**vars(record), "txns": (txn.txn, "never")}))
    seen = CompactionLog(kernel, NAME)
    assert seen.records()[0].state == "running"
    kernel.files.delete(log._layout.heartbeat_of(record.id))
    (one,) = seen.records()
    assert (one.state, one.versions) == ("failed", (2,))
    assert one.error == "its process died; 1 of its commits stand"


def test_a_record_that_is_no_record_hides_no_other(kernel: Kernel, log: CompactionLog) -> None:
    log.end(log.request("small_files", "threshold"))
    kernel.files.write_text(f"{log._layout.compactions}/zzz.json", "half a rec")
    assert [one.state for one in log.records()] == ["done"]


def test_a_table_without_versions_has_no_log(kernel: Kernel) -> None:
    with pytest.raises(TableNotFound, match=r"s\.t"):
        CompactionLog(kernel, NAME)
