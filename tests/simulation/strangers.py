"""Programs that know nothing of lakemerge: they insert files into partitions, and add, drop and move partitions."""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from lakemerge.errors import MetastoreError, StorageError
from lakemerge.kernel import HivePartition, HiveTable, TableName
from lakemerge.kernel.ports.names import partition_name
from lakemerge.kernel.table.definition import ROOT, moved, new_partition
from lakemerge.kernel.table.overlay import BASE, base_name
from lakemerge.testing import MemoryMetastore, World
from simulation.intents import Violation
from simulation.operations import BY_HAND, Model, partition_number
from simulation.scheduler import Process

#: Above every sequence that a merge truncates at.
_SEQUENCE = 50
_BY_HAND = str(BY_HAND)


@dataclass
class Meddling:
    """What strangers have done.

    Attributes:
        rows: what they have inserted, as JSON, each with its partition and the number of commits when it was planned.
        partitions: the values of partitions that they have dropped, moved or overwritten, with all that was in them;
            an empty one stands for the whole table.
        displaced: those of them that were dropped or moved: what was in them may have gone, or come back.
        overwritten: the rows that they have put in the place of all others of a directory, with that and the time.
        emptied: those directories, from the first file on that they delete.
        erased: the rows that were in these files.
    """

    rows: dict[str, tuple[str, int]] = field(default_factory=dict)
    partitions: set[str] = field(default_factory=set)
    overwritten: list[tuple[str, str, float]] = field(default_factory=list)
    displaced: set[str] = field(default_factory=set)
    emptied: set[str] = field(default_factory=set)
    erased: set[str] = field(default_factory=set)

    def take_into(self, model: Model, version: int, rows: list[str]) -> None:
        """Take a version that takes in what strangers did into the rows as they must be.

        It has what they have inserted, each once, and lacks what they have overwritten, which must not come back. In
        partitions that they have dropped or moved there may be anything.

        Raises:
            Violation: it takes in or lacks anything else.
        """
        before, after = Counter(model.rows()), Counter(rows)
        for row in (after - before).elements():
            if not (row in self.rows or self._is_in(row, self.displaced)) or (
                before[row] and row in self.rows
            ):
                raise Violation(f"version {version} takes in {row}")
            fact = json.loads(row)
            if isinstance(fact, list):
                model.keyed[fact[0]] = (fact[1], fact[2])
            else:
                model.facts.append(fact)
        for row in (before - after).elements():
            if not (row in self.erased or self._is_in(row, self.displaced)):
                raise Violation(f"version {version} has lost {row}, which no other program removed")
            fact = json.loads(row)
            if isinstance(fact, list) and model.keyed.get(fact[0]) == (fact[1], fact[2]):
                del model.keyed[fact[0]]

    def concerns(self, key: str) -> bool:
        """Whether they have dropped, moved or overwritten the partition of a key, or the whole table."""
        return "" in self.partitions or str(partition_number(key)) in self.partitions

    def _is_in(self, row: str, partitions: set[str]) -> bool:
        fact = json.loads(row)
        key = fact[0] if isinstance(fact, list) else ""
        value = str(partition_number(key)) if key else ""
        return value in partitions or (row in self.rows and self.rows[row][0] in partitions)


@dataclass
class Stranger:
    """A program that reads the metastore, takes its time, and acts on what it has read.

    Attributes:
        keyed: whether the table's rows have keys.
    """

    process: Process
    world: World
    table: TableName
    dice: random.Random
    done: Meddling
    log: list[str]
    keyed: bool

    def run(self, action: str, label: str, commits: int) -> None:
        """Do something; what fails is given up."""
        try:
            getattr(self, action)(label, commits)
        except (MetastoreError, StorageError) as error:
            self._note(f"{action} fails: {error}")

    def _note(self, text: str) -> None:
        self.log.append(f"{self.process.name}: {text}")

    def _wait(self) -> None:
        self.process.go_on(self.dice.choice((0.0, 0.0, 0.1, 1.0, 20.0)))

    def _row(self, label: str, value: str) -> Any:
        if not self.keyed:
            return f"foreign {label}"
        # a key of its own, which belongs to that partition
        number = 3 * (100 + len(self.done.rows))
        key = f"h{number}" if value == _BY_HAND else f"k{number + (int(value) if value.isdigit() else 0) % 3}"
        return [key, _SEQUENCE, f"foreign {label}"]

    def _pick(self) -> tuple[HiveTable, HivePartition | None] | None:
        metastore, name = self.world.metastore, self.table
        table = metastore.get_table(name)
        if table is not None and BASE in table.parameters:
            # a view, into which nobody inserts: its base has the files
            name = base_name(name)
            table = metastore.get_table(name)
        if table is None:
            return None
        if not table.partitioned:
            return table, None
        rows = metastore.partitions(name, metastore.partition_names(name))
        return (table, self.dice.choice(rows)) if rows else None

    def insert(self, label: str, commits: int) -> None:
        """As Spark and Hive do: the place is planned, the file is written under a hidden name, then renamed."""
        found = self._pick()
        if found is None:
            return
        table, partition = found
        value = partition.values[0] if partition else ""
        location = partition.location if partition else table.location
        if f"{table.parameters.get(ROOT)}/_lakemerge/empty/" in location:
            return  # a partition on its way: nobody has planned with it for long
        row = self._row(label, value)
        text = json.dumps(row)
        self.done.rows[text] = (value, commits)
        self._wait()
        hidden = f"{location}/_temporary/{label}"
        self.world.files.write_text(hidden, json.dumps([row]))
        self._wait()
        self.world.files.move(hidden, f"{location}/foreign-{label}.orc")
        self._note(f"inserts {text} at {location}")

    def overwrite(self, label: str, commits: int) -> None:
        """``INSERT OVERWRITE`` of Hive: what is there is deleted, then the new file is renamed to its place."""
        found = self._pick()
        if found is None:
            return
        table, partition = found
        value = partition.values[0] if partition else ""
        location = partition.location if partition else table.location
        if f"{table.parameters.get(ROOT)}/_lakemerge/empty/" in location:
            return
        files, row = self.world.files, self._row(label, value)
        self.done.rows[json.dumps(row)] = (value, commits)
        self.done.partitions.add(value)
        self._wait()
        hidden = f"{location}/.hive-staging/{label}"
        files.write_text(hidden, json.dumps([row]))
        self._wait()
        self.done.emptied.add(location)
        for entry in files.list(location):
            if not entry.is_directory and entry.name[:1] not in "_.":
                self.done.erased.update(map(json.dumps, json.loads(files.read_text(entry.path))))
                files.delete(entry.path)
        self._wait()
        files.move(hidden, f"{location}/foreign-{label}.orc")
        self.done.overwritten.append((json.dumps(row), location, self.process.now))
        self._note(f"overwrites {location} with {json.dumps(row)}")

    def drop(self, label: str, commits: int) -> None:
        """``ALTER TABLE … DROP PARTITION`` of an external table: the files stay."""
        found = self._pick()
        if found is None or found[1] is None:
            return
        self._wait()
        values = found[1].values
        self.done.partitions.add(values[0])
        self.done.displaced.add(values[0])
        MemoryMetastore.drop_partition(self.world.metastore, self.table, values)
        self._note(f"drops {values}")

    def add(self, label: str, commits: int) -> None:
        """``ALTER TABLE … ADD PARTITION … LOCATION``."""
        table = self.world.metastore.get_table(self.table)
        if table is None or len(table.partition_columns) != 1:
            return
        self._wait()
        location = f"memory:/by-hand/{label}"
        row = self._row(label, _BY_HAND)
        name = partition_name([table.partition_columns[0].name], [_BY_HAND])
        if name in self.world.metastore.partition_names(self.table):
            return
        self.world.files.write_text(f"{location}/foreign.orc", json.dumps([row]))
        self.done.rows[json.dumps(row)] = (_BY_HAND, commits)
        made = self.world.metastore.add_partitions(self.table, [new_partition(table, [_BY_HAND], location)])
        if not made:
            del self.done.rows[json.dumps(row)]
        self._note(f"adds {name} at {location}: {made}")

    def move(self, label: str, commits: int) -> None:
        """``ALTER TABLE … PARTITION … SET LOCATION``, to a copy that it has made."""
        found = self._pick()
        if found is None or found[1] is None:
            return
        partition = found[1]
        location = f"memory:/moved/{label}"
        self.done.partitions.add(partition.values[0])
        self.done.displaced.add(partition.values[0])
        self.world.files.make_directory(location)
        for entry in self.world.files.list(partition.location):
            if not entry.is_directory and entry.name[:1] not in "_.":
                self.world.files.copy(entry.path, f"{location}/{entry.name}")
        self._wait()
        self.world.metastore.alter_partitions(self.table, [moved(partition, location)])
        self._note(f"moves {partition.values} to {location}")
