"""What goes wrong once a transaction stands is told and not raised: who sees an error appends the rows again."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest
from py4j.protocol import Py4JError
from pyspark.sql.catalog import Catalog

import lakemerge
from lakemerge.engine import lifecycle
from lakemerge.engine.spark.handle import SessionHandle
from lakemerge.engine.transactions.changes import TableChanges
from lakemerge.errors import CommitInDoubt, CommitUnfinished, StorageUnreachable
from lakemerge.kernel import Kernel


def unreachable() -> StorageUnreachable:
    return StorageUnreachable(expected="an answer", found="none", action="Try again.")


# What fails, and by what. The kernel's own error is one that a program is told to retry.
PLACES: dict[str, tuple[Any, str, Callable[[], Exception]]] = {
    "compaction": (lifecycle, "compact_after_commit", lambda: Py4JError("Java went away")),
    "compaction, typed": (lifecycle, "compact_after_commit", unreachable),
    "refresh": (Catalog, "refreshTable", lambda: Py4JError("Java went away")),
    "session": (SessionHandle, "close", lambda: Py4JError("Java went away")),
    "batches": (TableChanges, "close", unreachable),
}


class TestAfterCommit:
    @pytest.fixture(scope="class")
    def log(self, appended: Any) -> Any:
        log = appended({"append_layout": "commit_partitioned"}, "id bigint, what string")
        log.append([{"id": 0, "what": "begin"}])
        return log

    @pytest.mark.parametrize("place", PLACES)
    def test_what_follows_is_told_and_not_raised(
        self,
        log: Any,
        program: Any,
        monkeypatch: pytest.MonkeyPatch,
        caplog: pytest.LogCaptureFixture,
        place: str,
    ) -> None:
        def fail(*_: Any, **__: Any) -> None:
            raise error()

        owner, name, error = PLACES[place]
        table = program.name(log)
        monkeypatch.setattr(owner, name, fail)
        t = lakemerge.transaction(table, spark=program.spark)
        t.begin()
        t.append(table, {"id": 1, "what": place})
        with caplog.at_level(logging.WARNING, "lakemerge"):
            versions = t.commit()
        monkeypatch.undo()
        assert t.state == "committed"
        assert list(versions) == [table]
        assert len(log.sql(f"select * from {{table}} where what = '{place}'")) == 1
        assert "do not repeat it" in caplog.text

    @pytest.mark.parametrize("error", [Py4JError("Java went away"), unreachable()], ids=["Java's", "typed"])
    def test_an_error_of_a_commit_that_stands_says_so(
        self, log: Any, program: Any, monkeypatch: pytest.MonkeyPatch, error: Exception
    ) -> None:
        together = Kernel.commit_together

        def cut_off(kernel: Kernel, transactions: Any) -> Any:
            together(kernel, transactions)
            raise error

        table = program.name(log)
        monkeypatch.setattr(Kernel, "commit_together", cut_off)
        t = lakemerge.transaction(table, spark=program.spark)
        t.begin()
        t.append(table, {"id": 2, "what": str(error)})
        with pytest.raises(CommitUnfinished, match="Do not repeat the changes") as info:
            t.commit()
        assert t.state == "committed"
        assert not info.value.retriable

    def test_an_error_of_a_commit_in_doubt_says_so(
        self, log: Any, program: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def cut_off(kernel: Kernel, transactions: Any) -> Any:
            for transaction in transactions:
                transaction.state = "in doubt"
            raise Py4JError("Java went away")

        table = program.name(log)
        monkeypatch.setattr(Kernel, "commit_together", cut_off)
        t = lakemerge.transaction(table, spark=program.spark)
        t.begin()
        t.append(table, {"id": 3, "what": "perhaps"})
        with pytest.raises(CommitInDoubt):
            t.commit()
        assert t.state == "in doubt"
