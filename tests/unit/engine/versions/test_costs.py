"""What it takes to find and to compare versions, by how many a table has kept."""

from __future__ import annotations

import time
from collections.abc import Sequence

import pytest

from kernel.support import create, merge
from lakemerge.engine.versions.choice import Choice
from lakemerge.engine.versions.comparison import Comparison
from lakemerge.engine.versions.version_rows import VersionRows
from lakemerge.errors import VersionChanged, VersionVacuumed
from lakemerge.kernel import Kernel, TableName, vacuum
from lakemerge.kernel.ports.filesystem import FileEntry
from lakemerge.testing import MemoryFiles, Timeline, World

NAME = TableName("s", "t")
PARTITIONS = 300


class CountingFiles(MemoryFiles):
    """Counts the texts that are read, and the directories that are listed."""

    def __init__(self, timeline: Timeline) -> None:
        super().__init__(timeline)
        self.texts = self.listed = 0

    def read_text(self, path: str) -> str:
        self.texts += 1
        return super().read_text(path)

    def list_all(self, paths: Sequence[str]) -> list[list[FileEntry]]:
        self.listed += len(paths)
        return super().list_all(paths)


def made(versions: int, partitions: int = PARTITIONS) -> tuple[World, CountingFiles]:
    world = World()
    world.files = files = CountingFiles(world.timeline)
    kernel = Kernel(world.process())
    create(kernel, NAME, {f"p={number}": ["1"] for number in range(partitions)})
    for number in range(2, versions + 1):
        merge(kernel, NAME, {f"p={number % 7}": [str(number)]})
    with kernel.begin(NAME, "tag", data_change=False) as transaction:
        _, second = Choice(version=2).find(world.process(), NAME)
        transaction.set_reference("second", second.txn)
        transaction.commit()
    return world, files


def rows_of(world: World, choice: Choice) -> VersionRows:
    """A version found by a process that knows nothing yet; the frames are Spark's, and are not made here."""
    ports = world.process()
    state, manifest = choice.find(ports, NAME)
    return VersionRows(None, ports.files, state.layout, manifest)  # type: ignore[arg-type]


def cost(versions: int, partitions: int = PARTITIONS) -> list[tuple[int, int]]:
    """The texts and directories that each piece of work reads, in a table of so many versions."""
    return [counts for counts, _ in costs(*made(versions, partitions), partitions)]


def costs(world: World, files: CountingFiles, partitions: int) -> list[tuple[tuple[int, int], float]]:
    """The texts and directories that each piece of work reads, and the CPU seconds that it takes."""
    found, began = [], [time.process_time()]

    def note() -> None:
        found.append(((files.texts, files.listed), time.process_time() - began[0]))
        files.texts = files.listed = 0
        began[0] = time.process_time()

    files.texts = files.listed = 0
    newest = rows_of(world, Choice())
    note()
    second = rows_of(world, Choice(tag="second"))
    note()
    assert len(list(second.files())) == partitions
    note()
    compared = Comparison(None, None, second, newest, places=())  # type: ignore[arg-type]
    # all versions but two have changed the same partitions
    assert len(compared.partitions) == 7
    for side in (second, newest):
        assert len(list(side.files(compared.partitions))) == 7
    note()
    return found


def test_the_cost_of_a_version_and_of_a_difference_is_the_same_for_many_versions() -> None:
    few, many = cost(20), cost(180)
    assert many[2] == few[2] == (0, PARTITIONS)
    assert many[3] == few[3] == (0, 14), "only the partitions that differ are listed"
    # a manifest is a difference to one of the 15 before it
    assert all(texts <= 20 and not listed for texts, listed in (*few[:2], *many[:2]))


@pytest.mark.slow
def test_a_thousand_versions_of_ten_thousand_partitions_cost_what_a_hundred_do() -> None:
    partitions = 10_000
    world, files = made(100, partitions)
    few = costs(world, files, partitions)
    world, files = made(1_000, partitions)
    best = [costs(world, files, partitions) for _ in range(3)]
    many = [min(one) for one in zip(*best, strict=True)]
    print(*zip(few, many, strict=True), sep="\n")
    assert (
        [counts for counts, _ in many[2:]] == [counts for counts, _ in few[2:]] == [(0, partitions), (0, 14)]
    )
    assert all(texts <= 20 and not listed for (texts, listed), _ in (*few[:2], *many[:2]))
    # a tenth of the versions takes as long: what grew with them would take ten times that
    assert all(after < 3 * before + 0.1 for (_, before), (_, after) in zip(few, many, strict=True))


def test_by_its_number_a_version_is_found_in_the_manifests_of_the_newer_ones() -> None:
    world, files = made(60)
    taken = {}
    for number in (60, 30, 3):
        files.texts = 0
        rows_of(world, Choice(version=number))
        taken[number] = files.texts
    assert taken[60] < 10
    assert taken[30] < taken[60] + 50
    assert taken[3] < taken[60] + 80


def test_a_vacuum_between_finding_a_version_and_reading_it_is_an_error() -> None:
    world = World()
    kernel = Kernel(world.process())
    create(kernel, NAME, {"p=1": ["1", "2"], "p=2": ["3"]})
    rows = rows_of(world, Choice())
    for text in "45":
        merge(kernel, NAME, {"p=1": [text], "p=2": [text]})
        world.timeline.pass_by(10 * 86_400)
    vacuum(kernel, NAME, dry_run=False)
    with pytest.raises(VersionVacuumed):
        list(rows.files())
    newest = rows_of(world, Choice())
    # file systems that delete a directory file by file
    world.files.delete(f"{newest.layout.absolute(newest.manifest.partitions['p=1'].location)}/part-0.orc")
    world.files.write_text(
        f"{newest.layout.absolute(newest.manifest.partitions['p=1'].location)}/part-9.orc", ""
    )
    with pytest.raises(VersionChanged, match="a vacuum is deleting them"):
        list(newest.files())
