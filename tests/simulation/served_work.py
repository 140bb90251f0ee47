"""What only the processes of some themes do: see :mod:`simulation.served`."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

from lakemerge.errors import LakemergeError
from lakemerge.kernel import Kernel, Reference, find_version
from lakemerge.kernel.ports.names import DEFAULT_PARTITION
from simulation.intents import Violation
from simulation.operations import (
    COLUMNS,
    Model,
    Operation,
    Overwrite,
    _content,
    _partition_of,
    _stage,
    count,
)
from simulation.places import rows_of
from simulation.refusals import REFUSED


@dataclass
class Describe(Operation):
    """A comment that the metastore cannot hold. No rows change."""

    def apply(self, model: Model) -> None:
        return

    def attempt(self, kernel: Kernel) -> int | None:
        with self.began(kernel.begin(self.table, "describe")) as transaction:
            base = transaction.base
            assert base is not None
            transaction.set_schema(
                tuple(replace(column, comment=REFUSED) for column in COLUMNS), base.partition_columns
            )
            transaction.set_parameters({"comment": f"{REFUSED} {self.label}"})
            transaction.properties = dict(base.properties)
            return transaction.commit()


@dataclass
class OddAppend(Operation):
    """A row in a partition whose value the metastore cannot hold."""

    def apply(self, model: Model) -> None:
        model.facts.append(self.label)

    def attempt(self, kernel: Kernel) -> int | None:
        with self.began(kernel.begin(self.table, "append")) as transaction:
            rows = {f"p={REFUSED}/c={DEFAULT_PARTITION}": [self.label]}
            _stage(kernel, transaction, rows, transaction.base)
            count(transaction, 1)
            return transaction.commit()


@dataclass
class StageFirst(Overwrite):
    """As an overwrite, but the partition is read, after its rows are staged."""

    def attempt(self, kernel: Kernel) -> int | None:
        with self.began(kernel.begin(self.table, "merge")) as transaction:
            base = transaction.base
            assert base is not None
            self.whole = not base.partition_columns
            name = _partition_of(f"k{self.number}", base.partition_columns)
            _stage(kernel, transaction, {name: [[f"k{self.number}", 0, self.label]]}, base)
            transaction.read({name})
            base = transaction.base
            assert base is not None
            self.whole = not base.partition_columns
            before = len(_content(kernel, transaction.layout, base, name))
            count(transaction, 1 - before)
            return transaction.commit()


@dataclass
class Name(Operation):
    """A name for a version, which is read by it later.

    Attributes:
        seconds: until it is read; longer than vacuum's retention.
        forgets: whether the name is taken away instead.
    """

    seconds: float = 100.0
    forgets: bool = False

    def apply(self, model: Model) -> None:
        return

    def attempt(self, kernel: Kernel) -> int | None:
        with self.began(kernel.begin(self.table, "tag")) as transaction:
            base = transaction.base
            assert base is not None
            began = kernel.clock.monotonic()
            transaction.set_reference(self.label, None if self.forgets else base.txn)
            transaction.properties = dict(base.properties)
            version = transaction.commit()
            quick = kernel.clock.monotonic() - began < self.seconds / 10
        if self.forgets:
            return version
        kernel.clock.sleep(self.seconds)
        if quick:  # otherwise a vacuum may not have seen the name: that is documented
            self._read(kernel, base.txn, base.table_id)
        return version

    def _read(self, kernel: Kernel, txn: str, table_id: str) -> None:
        watched: Any = kernel.metastore.inner  # type: ignore[attr-defined]
        try:
            state, newest = kernel.settled(self.table)
        except LakemergeError:
            return  # another process died with the lock, so nobody can look now
        if newest.table_id != table_id or newest.references.get(self.label) != Reference(txn):
            return  # of a table that was dropped, or replaced with all its names
        found = find_version(kernel, self.table, tag=self.label)[1]
        (named,) = (one for one in watched.checker.commits if one.manifest.txn == txn)
        places = [state.layout.absolute(one.location) for one in found.partitions.values()]
        rows = rows_of(watched.checker.files, places)
        if rows != named.rows and found.overlay is None and table_id not in watched.checker.dropped:
            raise Violation(f"version {named.version}, by its name, holds {rows}; expected {named.rows}")


@dataclass
class Reject(Operation):
    """Records for the quarantine, or none any more. No rows change."""

    clears: bool = False

    def apply(self, model: Model) -> None:
        return

    def attempt(self, kernel: Kernel) -> int | None:
        with self.began(kernel.begin(self.table, "ingest")) as transaction:
            base = transaction.base
            assert base is not None
            if self.clears:
                transaction.read_side_data("quarantine")
                transaction.set_sidecars("quarantine", [])
            else:
                directory = transaction.sidecar_directory("quarantine")
                kernel.files.write_text(f"{directory}/part-0.orc", json.dumps([self.label]))
                transaction.add_sidecar("quarantine", directory)
            transaction.properties = dict(base.properties)
            return transaction.commit()
