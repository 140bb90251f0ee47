"""A process that adds deltas to a table that is merged on read, and compacts them, again and again, until it is killed.

Usage: python -m engines.delta_writer CONF TABLE CONTENTS DELTAS. CONTENTS is a directory of contents, each with the
table's partitions as folders of real files; DELTAS has one folder for each delta, ``i=<number>``, whose rows are those
of content ``number % contents``. A dot is printed for each commit.
"""

from __future__ import annotations

import datetime
import itertools
import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from unittest import mock
from urllib.parse import urlparse

from lakemerge.kernel import (
    Jvm,
    Kernel,
    TableName,
    Transaction,
    mark_folded,
    mark_settled,
    ports_of,
    retire_unread,
)

# Deltas are taken away so many seconds after a compaction, not ten minutes: no query is planned for so long.
_PLANNING_SECONDS = 15


class Writer:
    """Merges, and compactions of both kinds."""

    def __init__(self, kernel: Kernel, name: TableName, contents: Path, deltas: Path) -> None:
        self._kernel, self._name = kernel, name
        self._contents = sorted(contents.iterdir())
        self._deltas = deltas

    def run(self) -> None:
        for number in itertools.count(1):
            self._commit("merge", lambda txn, number=number: self._add(txn, number))  # type: ignore[misc]
            if number % 2 == 0:
                self._commit("compact", lambda txn, number=number: self._make_one(txn, number))  # type: ignore[misc]
            if number % 4 == 0:
                self._commit("compact", lambda txn, number=number: self._move(txn, number))  # type: ignore[misc]

    def _commit(self, operation: str, work: Callable[[Transaction], None]) -> None:
        with self._kernel.begin(self._name, operation, data_change=operation == "merge") as txn:
            work(txn)
            retire_unread(txn)
            txn.commit()
            mark_settled(txn)
        print(".", flush=True)

    def _write(self, txn: Transaction, number: int) -> str:
        directory = txn.sidecar_directory("deltas")
        shutil.copytree(self._deltas / f"i={number}", urlparse(directory).path)
        return directory

    def _add(self, txn: Transaction, number: int) -> None:
        txn.add_sidecar("deltas", self._write(txn, number))

    def _make_one(self, txn: Transaction, number: int) -> None:
        """All rows are in the newest delta, so that is what all of them make."""
        assert txn.base is not None
        mark_folded(txn, txn.base.sidecars["deltas"], [self._write(txn, number)])

    def _move(self, txn: Transaction, number: int) -> None:
        assert txn.base is not None
        txn.read()
        content = self._contents[number % len(self._contents)]
        shutil.copytree(content, urlparse(txn.stage_directory).path)
        txn.add_staged()
        mark_folded(txn, txn.base.sidecars["deltas"])


def main(conf: str, table: str, contents: str, deltas: str) -> None:
    seconds = datetime.timedelta(seconds=_PLANNING_SECONDS)
    with mock.patch("lakemerge.kernel.commit.retiring.PLANNING_TIME", seconds):
        kernel = Kernel(ports_of(Jvm.launch(json.loads(conf))))
        Writer(kernel, TableName("default", table), Path(contents), Path(deltas)).run()


if __name__ == "__main__":
    main(*sys.argv[1:])
