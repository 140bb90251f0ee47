"""Runs of more than one batch: what had landed when the run began, and continuous ones."""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from lakemerge import compaction_thresholds
from lakemerge.ingest.continuous import BatchReport, Continuous, running

COLUMNS = {"id": "int", "name": "string"}


@contextmanager
def streaming(table: Any) -> Iterator[tuple[queue.Queue[BatchReport], list[Any]]]:
    """A continuous run in a thread of its own: the reports of its batches, and its response when it has ended."""
    reports: queue.Queue[BatchReport] = queue.Queue()
    responses: list[Any] = []
    continuous = Continuous(reports.put)
    with running(continuous):
        thread = threading.Thread(target=lambda: responses.append(table.run()))
        thread.start()
        try:
            yield reports, responses
        finally:
            continuous.stop()
            thread.join(120)
    assert not thread.is_alive()


class TestBatches:
    def test_available_now_reads_what_had_landed_in_limited_batches(self, ingester: Any) -> None:
        table = ingester({"trigger": "available_now", "max_files": 2}, COLUMNS)
        for number in range(5):
            table.land(f"{number}.csv", f"{number},a\nbad,b\n")
        later = table.land("later.csv", "9,a\n")
        os.utime(later, (time.time() + 3600, time.time() + 3600))
        response = table.run()
        assert (response.inserted, response.quarantined, response.files, response.version) == (5, 5, 5, 3)
        assert table.rows("id") == [(number,) for number in range(5)]
        assert len(table.quarantine()) == 5
        view = f"{table.relation.schema}.{table.name}__quarantine_by_reason"
        assert len(table.sql(f"select * from {view}")) == 1
        # nothing but the table says what was read: another run finds it there
        again = table.run()
        assert (again.files, again.version) == (0, 0)

    @pytest.mark.slow
    def test_a_continuous_run_commits_as_files_land_and_compacts(
        self, ingester: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(compaction_thresholds, "PARTITIONS", 3)
        table = ingester(
            {
                "trigger": "processing_time",
                "trigger_interval": "0 seconds",
                "max_files": 1,
            },
            COLUMNS,
        )
        table.land("0.csv", "0,a\n")
        with streaming(table) as (reports, responses):
            for number in range(5):
                report = reports.get(timeout=120)
                assert (report.inserted, report.quarantined, report.read["files"]) == (1, int(number > 0), 1)
                # what was told of is there for every reader
                assert table.rows("id") == [(found,) for found in range(number + 1)]
                if number < 4:
                    table.land(f"{number + 1}.csv", f"{number + 1},a\nbad,b\n")
            assert reports.empty()
            assert not responses
        (response,) = responses
        assert (response.inserted, response.quarantined, response.files) == (5, 4, 5)
        operations = [commit["operation"] for commit in table.history()]
        assert (operations.count("ingest"), operations.count("compact")) == (5, 2)
        assert len(table.sql("show partitions {table}")) < 3
        assert len(table.quarantine()) == 4
