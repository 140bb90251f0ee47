"""What another program writes after a commit's last look, into a directory that the commit supersedes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kernel.support import (
    NO_RETENTION,
    Died,
    Rows,
    assert_nothing_orphaned,
    assert_whole,
    create,
    locations,
    make_plain,
    merge,
    rows_of,
    settled,
    stage,
)
from lakemerge.errors import StorageError
from lakemerge.kernel import Kernel, Ports, Settings, TableName
from lakemerge.kernel.external.late import LateFiles
from lakemerge.kernel.maintenance.history import history
from lakemerge.kernel.maintenance.vacuum import vacuum
from lakemerge.testing import World

NAME = TableName("s", "t")
SHAPES: dict[str, Rows] = {"partitioned": {"p=1": ["old"], "p=2": ["old"]}, "whole": {"": ["old"]}}


def late_writer(world: World, write: Callable[[str], None], *, at: str = "manifest written") -> Kernel:
    """A kernel beside which another program writes, between a commit's last look and the swap, where rows were."""
    done: list[str] = []

    def step(name: str) -> None:
        if name == at and not done:
            done.append(name)
            plain = Kernel(world.process())
            where = locations(plain, NAME)
            world.timeline.pass_by(1)
            write(where.get("p=1") or where[""])
            world.timeline.pass_by(1)

    return Kernel(world.process(), step=step)


def adds(world: World, name: str = "foreign.orc") -> Callable[[str], None]:
    return lambda location: world.files.write_text(f"{location}/{name}", "foreign")


def first(rows: Rows) -> str:
    return next(iter(rows))


@pytest.mark.parametrize("adopted", [False, True], ids=["made", "adopted"])
@pytest.mark.parametrize("shape", SHAPES)
def test_files_that_come_between_the_last_look_and_the_swap_become_a_version(
    shape: str, adopted: bool, world: World, kernel: Kernel, caplog: pytest.LogCaptureFixture
) -> None:
    rows = SHAPES[shape]
    (make_plain if adopted else create)(kernel, NAME, rows)
    version = merge(late_writer(world, adds(world)), NAME, {first(rows): ["new"]})
    assert rows_of(kernel, NAME) == {**rows, first(rows): ["foreign", "new"]}
    newest, merged = history(kernel, NAME, 2)
    assert (newest.operation, newest.written, newest.version) == ("foreign", (first(rows),), version + 1)
    assert (merged.operation, merged.version) == ("merge", version)
    assert "after a commit had superseded it; they are taken in" in caplog.text
    assert kernel.recover(NAME) == []
    assert_nothing_orphaned(kernel, NAME)


def test_files_for_a_partition_that_the_commit_removes_make_it_again(world: World, kernel: Kernel) -> None:
    create(kernel, NAME, SHAPES["partitioned"])
    txn = late_writer(world, adds(world)).begin(NAME, "merge")
    txn.read(["p=1"])
    txn.remove(["p=1"])
    txn.commit()
    assert rows_of(kernel, NAME) == {"p=1": ["foreign"], "p=2": ["old"]}
    assert_whole(kernel, NAME)
    merge(kernel, NAME, {"p=1": ["newest"]})
    assert_nothing_orphaned(kernel, NAME)


def test_files_for_a_partition_that_another_commit_makes_at_that_moment_are_in_it(
    world: World, kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was claimed before the partition was made again for the files, and puts its own in that place."""
    create(kernel, NAME, SHAPES["partitioned"])
    target = LateFiles._target

    def overtaken(late: LateFiles, *arguments: Any) -> str:
        monkeypatch.setattr(LateFiles, "_target", target)
        made: list[str] = []

        def step(name: str) -> None:
            if name == "claimed" and not made:
                made.append(target(late, *arguments))

        merge(Kernel(world.process(), step=step), NAME, {"p=1": ["other"]})
        return made[0]

    monkeypatch.setattr(LateFiles, "_target", overtaken)
    txn = late_writer(world, adds(world)).begin(NAME, "merge")
    txn.read(["p=1"])
    txn.remove(["p=1"])
    txn.commit()
    assert rows_of(kernel, NAME) == {"p=1": ["foreign", "other"], "p=2": ["old"]}
    assert_whole(kernel, NAME)


@pytest.mark.parametrize("name", ["_temporary/0/part.orc", ".foreign.orc.tmp", "foreign.orc._COPYING_"])
def test_files_that_are_still_being_written_are_no_data(name: str, world: World, kernel: Kernel) -> None:
    create(kernel, NAME, SHAPES["partitioned"])
    merge(late_writer(world, adds(world, name)), NAME, {"p=1": ["new"]})
    assert rows_of(kernel, NAME) == {"p=1": ["new"], "p=2": ["old"]}
    assert settled(kernel, NAME).version == 2


def test_a_directory_that_was_overwritten_late_is_named_and_kept(
    world: World, kernel: Kernel, caplog: pytest.LogCaptureFixture
) -> None:
    """Its author wanted to replace rows that a commit has changed since: neither to add nor to replace is right."""
    create(kernel, NAME, SHAPES["partitioned"])
    where = locations(kernel, NAME)["p=1"]

    def overwrite(location: str) -> None:
        world.files.delete(f"{location}/part-0.orc")
        world.files.write_text(f"{location}/foreign.orc", "foreign")

    merge(late_writer(world, overwrite), NAME, {"p=1": ["new"]})
    assert rows_of(kernel, NAME) == {"p=1": ["new"], "p=2": ["old"]}
    assert f"{where}: another program wrote into this directory" in caplog.text
    for _ in range(3):  # the next vacuum knows of it by the manifests that the one before has left
        vacuum(kernel, NAME, retention=NO_RETENTION, dry_run=False, allow_short_retention=True)
        assert world.files.read_text(f"{where}/foreign.orc") == "foreign"


def test_the_policy_fail_takes_nothing_in_and_keeps_the_files(
    world: World, kernel: Kernel, caplog: pytest.LogCaptureFixture
) -> None:
    create(kernel, NAME, SHAPES["partitioned"])
    where = locations(kernel, NAME)["p=1"]
    writer = late_writer(world, adds(world))
    strict = Kernel(world.process(), Settings(on_foreign_write="fail"), step=writer.step)
    assert merge(strict, NAME, {"p=1": ["new"]}) == 2
    assert "on_foreign_write is fail" in caplog.text
    vacuum(strict, NAME, retention=NO_RETENTION, dry_run=False, allow_short_retention=True)
    assert rows_of(kernel, NAME) == {"p=1": ["new"], "p=2": ["old"]}
    assert world.files.exists(f"{where}/foreign.orc")


@pytest.mark.parametrize("adopted", [False, True], ids=["made", "adopted"])
@pytest.mark.parametrize("how", ["recover", "vacuum", "commit"])
def test_files_that_come_after_the_commit_has_looked_are_found_later(
    how: str, adopted: bool, world: World, kernel: Kernel
) -> None:
    (make_plain if adopted else create)(kernel, NAME, SHAPES["partitioned"])
    where = locations(kernel, NAME)["p=1"]
    merge(kernel, NAME, {"p=1": ["new"]})
    merge(kernel, NAME, {"p=1": ["newer"], "p=2": ["newer"]})
    world.timeline.pass_by(60)
    adds(world)(where)
    if how == "recover":
        assert kernel.recover(NAME) == ["took in what another program wrote late into 1 partitions"]
    elif how == "vacuum":
        assert vacuum(kernel, NAME, retention=NO_RETENTION, allow_short_retention=True) != []
        assert rows_of(kernel, NAME)["p=1"] == ["newer"], "a dry run changes nothing"
        vacuum(kernel, NAME, retention=NO_RETENTION, dry_run=False, allow_short_retention=True)
    else:
        merge(kernel, NAME, {"p=1": ["newest"]})
        assert kernel.recover(NAME) != []
    assert rows_of(kernel, NAME)["p=1"] == ["foreign", "newest" if how == "commit" else "newer"]
    assert kernel.recover(NAME) == []
    assert_nothing_orphaned(kernel, NAME)


DAY = 86_400


def vacuum_on(world: World, kernel: Kernel, *days: int) -> None:
    """Vacuum once on each of these days, counted from when the world began."""
    for day in days:
        world.timeline.pass_by(day * DAY - world.timeline.seconds)
        vacuum(kernel, NAME, dry_run=False)


def test_a_directory_is_recognized_until_it_goes(world: World, kernel: Kernel) -> None:
    """The version that made it may be vacuumed before the last one that had it."""
    create(kernel, NAME, SHAPES["partitioned"])
    where = locations(kernel, NAME)["p=1"]
    for number in range(2):
        adds(world, f"{number}.orc")(where)
        kernel.recover(NAME)
    world.timeline.pass_by(3 * DAY)
    for number in range(2):
        merge(kernel, NAME, {"p=1": [f"new {number}"]})
    vacuum_on(world, kernel, 8)
    assert [version.version for version in history(kernel, NAME)][-1] == 2
    world.timeline.pass_by(DAY)
    adds(world, "late.orc")(where)
    vacuum_on(world, kernel, 11, 20, 30)
    assert rows_of(kernel, NAME)["p=1"] == ["foreign", "new 1"]
    assert not world.files.exists(where)


def test_a_directory_that_a_name_keeps_is_looked_at_before_its_successor_goes(
    world: World, kernel: Kernel
) -> None:
    create(kernel, NAME, SHAPES["partitioned"])
    where = locations(kernel, NAME)["p=1"]
    first = history(kernel, NAME)[0].txn
    with kernel.begin(NAME, "tag") as transaction:
        transaction.set_reference("kept", first)
        transaction.commit()
    for number in range(3):
        merge(kernel, NAME, {"p=1": [f"new {number}"]})
    world.timeline.pass_by(3 * DAY)
    adds(world)(where)
    vacuum_on(world, kernel, 8, 20)
    assert rows_of(kernel, NAME)["p=1"] == ["foreign", "new 2"]
    with kernel.begin(NAME, "tag") as transaction:
        transaction.set_reference("kept", None)
        transaction.commit()
    vacuum_on(world, kernel, 30, 40)
    assert rows_of(kernel, NAME)["p=1"] == ["foreign", "new 2"]
    assert not world.files.exists(where)


def overwrite_all(kernel: Kernel) -> None:
    """Replace everything, unread."""
    txn = kernel.begin(NAME, "replace")
    txn.replace_all()
    stage(kernel, txn, {"p=1": ["replaced"]})
    txn.commit()


def test_what_a_replacement_found_is_replaced_and_what_came_after_it_is_taken_in(
    world: World, kernel: Kernel
) -> None:
    create(kernel, NAME, SHAPES["partitioned"])
    first_place = locations(kernel, NAME)["p=1"]
    merge(kernel, NAME, {"p=1": ["new"]})
    world.timeline.pass_by(1)
    adds(world, "replaced with the rest.orc")(locations(kernel, NAME)["p=1"])
    adds(world, "and so is what came late.orc")(first_place)
    world.timeline.pass_by(1)
    second_place = locations(kernel, NAME)["p=1"]
    overwrite_all(kernel)
    assert kernel.recover(NAME) == []
    assert rows_of(kernel, NAME) == {"p=1": ["replaced"]}
    world.timeline.pass_by(1)
    adds(world, "later.orc")(second_place)
    assert len(kernel.recover(NAME)) == 1
    assert rows_of(kernel, NAME) == {"p=1": ["foreign", "replaced"]}
    assert_nothing_orphaned(kernel, NAME)


def test_files_of_other_columns_are_not_taken_in(world: World, kernel: Kernel) -> None:
    create(kernel, NAME, SHAPES["partitioned"])
    where = locations(kernel, NAME)["p=1"]
    merge(kernel, NAME, {"p=1": ["new"]})
    from kernel.support import OTHER_KEYS

    txn = kernel.begin(NAME, "replace")
    txn.read()
    txn.replace_all()
    txn.set_schema(txn.base.columns if txn.base else (), OTHER_KEYS)
    stage(kernel, txn, {"q=1/r=a": ["other"]})
    txn.commit()
    world.timeline.pass_by(1)
    adds(world)(where)
    assert kernel.recover(NAME) == []
    assert rows_of(kernel, NAME) == {"q=1/r=a": ["other"]}
    assert world.files.exists(f"{where}/foreign.orc")


class Dying:
    """Ends a process at its n-th call of a port, before it or after it."""

    def __init__(self, inner: Any, count: list[int], *, after: bool) -> None:
        self._inner, self._count, self._after = inner, count, after
        self.compares = None

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if not callable(found) or name in ("qualify", "is_compressed"):
            return found

        def call(*args: Any, **kwargs: Any) -> Any:
            self._count[0] -= 1
            if self._count[0] == 0 and not self._after:
                raise Died
            try:
                return found(*args, **kwargs)
            finally:
                if self._count[0] == 0:
                    raise Died

        return call


def mortal(world: World, calls: int, *, after: bool) -> Kernel:
    real, count = world.process(), [calls]
    files: Any = Dying(real.files, count, after=after)
    metastore: Any = Dying(real.metastore, count, after=after)
    ports = Ports(
        metastore=metastore, files=files, row_files=real.row_files, clock=real.clock, host=real.host
    )
    return Kernel(ports)


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("removed", [False, True], ids=["there", "removed"])
def test_a_process_that_dies_anywhere_while_it_takes_files_in_doubles_and_loses_no_row(
    removed: bool, after: bool
) -> None:
    for calls in range(1, 500):
        world = World()
        kernel = Kernel(world.process())
        create(kernel, NAME, SHAPES["partitioned"])
        where = locations(kernel, NAME)["p=1"]
        if removed:
            txn = kernel.begin(NAME, "merge")
            txn.read(["p=1"])
            txn.remove(["p=1"])
            txn.commit()
        else:
            merge(kernel, NAME, {"p=1": ["new"]})
        for number in range(2):
            adds(world, f"foreign-{number}.orc")(where)
        died = False
        try:
            mortal(world, calls, after=after).recover(NAME)
        except Died:
            died = True
        world.timeline.pass_by(1000)
        Kernel(world.process()).recover(NAME)
        expected = ["foreign", "foreign"] if removed else ["foreign", "foreign", "new"]
        assert rows_of(kernel, NAME) == {"p=1": expected, "p=2": ["old"]}, calls
        assert_whole(kernel, NAME)
        if not died:
            assert calls > 20
            return
    raise AssertionError("it never ends")


def test_a_writer_of_a_whole_table_that_dies_after_its_claim_leaves_the_look_to_recover(world: World) -> None:
    kernel = Kernel(world.process())
    create(kernel, NAME, SHAPES["whole"])
    steps = late_writer(world, adds(world))

    def die(name: str) -> None:
        steps.step(name)
        if name == "claimed":
            raise Died

    with pytest.raises(Died):
        merge(Kernel(world.process(), step=die), NAME, {"": ["new"]})
    assert rows_of(kernel, NAME) == {"": ["new"]}
    world.timeline.pass_by(1000)
    assert "took in what another program wrote late into 1 partitions" in kernel.recover(NAME)
    assert rows_of(kernel, NAME) == {"": ["foreign", "new"]}
    assert_whole(kernel, NAME)


def test_late_files_that_cannot_be_moved_stay_where_they_are(
    world: World, kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(kernel, NAME, SHAPES["partitioned"])
    before = locations(kernel, NAME)["p=1"]
    merge(kernel, NAME, {"p=1": ["new"]})
    world.timeline.pass_by(1)
    adds(world)(before)

    def refuse(source: str, target: str) -> None:
        raise StorageError(expected="a", found="no right to write", action="c")

    with monkeypatch.context() as patch:
        patch.setattr(kernel.files, "move", refuse)
        with pytest.raises(StorageError, match="no right to write"):
            kernel.recover(NAME)
    assert kernel.files.exists(f"{before}/foreign.orc")
    kernel.recover(NAME)
    assert rows_of(kernel, NAME)["p=1"] == ["foreign", "new"]


def test_files_that_a_later_commit_has_replaced_unread_do_not_come_back(world: World, kernel: Kernel) -> None:
    """It replaces all rows of the partition, before the first commit looks for what came late."""
    create(kernel, NAME, {"p=1": ["old"]})

    def step(name: str) -> None:
        if name == "manifest written":
            world.timeline.pass_by(1)
            adds(world)(locations(kernel, NAME)["p=1"])
            world.timeline.pass_by(1)
        if name == "settled":
            with kernel.begin(NAME, "insert_overwrite") as transaction:
                stage(kernel, transaction, {"p=1": ["replaced"]})
                transaction.commit()

    merge(Kernel(world.process(), step=step), NAME, {"p=1": ["new"]})
    kernel.recover(NAME)
    assert rows_of(kernel, NAME) == {"p=1": ["replaced"]}
