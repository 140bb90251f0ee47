"""How many directories a commit lists, whatever the table holds besides."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest

from kernel.support import create, stage
from lakemerge.errors import CommitConflict
from lakemerge.kernel import Kernel, TableName
from lakemerge.kernel.ports.filesystem import FileEntry
from lakemerge.testing import MemoryFiles, Timeline, World

NAME = TableName("default", "t")
ROWS = {f"p={number}": [f"row {number}"] for number in range(200)}


class CountingFiles(MemoryFiles):
    """Counts the listings of data directories, and how many calls make them."""

    def __init__(self, timeline: Timeline) -> None:
        super().__init__(timeline)
        self.listed: Counter[str] = Counter()
        self.calls = 0

    def list_all(self, paths: Sequence[str]) -> list[list[FileEntry]]:
        self.listed.update(path for path in paths if "/data/" in path)
        self.calls += bool(paths)
        return super().list_all(paths)

    def forget(self) -> None:
        self.listed.clear()
        self.calls = 0


@pytest.fixture
def world() -> World:
    world = World()
    world.files = CountingFiles(world.timeline)
    return world


@pytest.fixture
def files(world: World) -> CountingFiles:
    assert isinstance(world.files, CountingFiles)
    return world.files


def kernel_of(world: World) -> Kernel:
    return Kernel(world.process())


def test_a_commit_lists_what_it_reads_once_to_read_it_and_once_before_its_claim(
    world: World, files: CountingFiles
) -> None:
    kernel = kernel_of(world)
    create(kernel, NAME, ROWS)
    files.forget()
    txn = kernel.begin(NAME, "merge")
    txn.read()
    assert (set(files.listed.values()), len(files.listed), files.calls) == ({1}, 200, 1)
    stage(kernel, txn, {"p=1": ["new"]})
    txn.commit()
    mine = {path: count for path, count in files.listed.items() if txn.txn in path}
    theirs = {path: count for path, count in files.listed.items() if txn.txn not in path}
    # what is superseded once more after the swap, for what came late
    assert (sorted(theirs.values()), len(theirs)) == ([*[2] * 199, 3], 200)
    # the folder of what is staged, and the one partition in it
    assert (list(mine.values()), files.calls) == ([1, 1], 5)


def test_a_commit_does_not_list_what_it_does_not_read(world: World, files: CountingFiles) -> None:
    kernel = kernel_of(world)
    create(kernel, NAME, ROWS)
    files.forget()
    txn = kernel.begin(NAME, "merge")
    txn.read(["p=1"])
    stage(kernel, txn, {"p=1": ["new"]})
    txn.commit()
    # p=1 to read it, before the claim and after the swap; what is staged, and the partition in it
    assert sum(files.listed.values()) == 5


def test_a_partition_that_is_read_twice_is_looked_at_once(world: World, files: CountingFiles) -> None:
    kernel = kernel_of(world)
    create(kernel, NAME, ROWS)
    files.forget()
    txn = kernel.begin(NAME, "merge")
    for names in (["p=1", "p=2"], ["p=2", "p=3"], ["p=1", "p=2", "p=3"], []):
        txn.read(names)
    assert list(files.listed.values()) == [1, 1, 1]
    txn.read()
    files.forget()
    txn.read()
    txn.read(["p=5"])
    assert not files.listed
    txn.abort()


def test_partitions_that_are_staged_are_listed_together(world: World, files: CountingFiles) -> None:
    kernel = kernel_of(world)
    create(kernel, NAME, ROWS)
    # the folder of what is staged, and all partitions in it
    assert (set(files.listed.values()), len(files.listed), files.calls) == ({1}, 201, 2)


class Overtaken:
    """A writer that loses the race for so many claims: another one commits right before each."""

    def __init__(self, world: World, losses: int) -> None:
        self.losses = losses
        self.other = kernel_of(world)
        self.kernel = Kernel(world.process(), step=self._step)

    def _step(self, step: str) -> None:
        if step == "manifest written" and self.losses:
            self.losses -= 1
            txn = self.other.begin(NAME, "merge")
            stage(self.other, txn, {"p=199": [f"theirs {self.losses}"]})
            txn.commit()


def test_a_lost_race_has_nothing_listed_again(world: World, files: CountingFiles) -> None:
    create(kernel_of(world), NAME, ROWS)
    writer = Overtaken(world, losses=2)
    read = [f"p={number}" for number in range(199)]
    txn = writer.kernel.begin(NAME, "merge")
    txn.read(read)
    stage(writer.kernel, txn, {"p=1": ["mine"]})
    files.forget()
    assert txn.commit() == 4
    of_those_read = [path for path in files.listed if path.endswith(tuple(f"/{name}" for name in read))]
    assert len(of_those_read) == 199
    # but the one that is superseded, after the swap
    assert sorted(files.listed[path] for path in of_those_read) == [*[1] * 198, 2]


def test_races_that_take_long_have_the_files_looked_at_again(world: World) -> None:
    create(kernel_of(world), NAME, ROWS)
    writer = Overtaken(world, losses=1)
    txn = writer.kernel.begin(NAME, "merge")
    txn.read(["p=1"])
    stage(writer.kernel, txn, {"p=1": ["mine"]})
    commit_of_another = writer._step

    def slow_step(step: str) -> None:
        if step == "manifest written" and writer.losses:
            commit_of_another(step)
            world.timeline.pass_by(5)
            row = world.metastore.partitions(NAME, ["p=1"])[0]
            world.files.write_text(f"{row.location}/part-foreign.orc", "foreign")

    writer.kernel.step = slow_step
    with pytest.raises(CommitConflict, match="another program wrote into p=1"):
        txn.commit()


def test_nested_folders_are_part_of_a_fingerprint(world: World) -> None:
    files = world.files
    for path in ("a/f", "a/deep/g", "a/_hidden/h", "a/.hidden", "b/f", "c/deep/deeper/f"):
        files.write_text(f"memory:/x/{path}", path)
    paths = [f"memory:/x/{folder}" for folder in ("b", "a", "none", "c")]
    marks = files.fingerprints(paths)
    assert marks == [files.fingerprint(path) for path in paths]
    assert [mark.files for mark in marks] == [1, 2, 0, 1]
