"""Tables that are merged on read: what may be done to them, and what finds them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import pytest

from kernel.meanwhile import Meanwhile
from kernel.support import (
    COLUMNS,
    KEYS,
    NO_RETENTION,
    OTHER_KEYS,
    WIDER_COLUMNS,
    Rows,
    add_delta,
    add_overlay,
    assert_nothing_orphaned,
    assert_whole,
    create,
    make_plain,
    merged_deltas,
    move_into_base,
    published,
    rows_of,
    stage,
)
from lakemerge.consumer.sources import source_snapshot
from lakemerge.errors import (
    CommitConflict,
    CommitUnfinished,
    InvalidTransactionState,
    TableTooNew,
    UnsupportedTable,
)
from lakemerge.kernel import (
    Kernel,
    TableDefinition,
    TableName,
    drop,
    find_row,
    history,
    is_overlay_view,
    mark_folded,
    remove_overlay,
    retire_folded,
    vacuum,
)
from lakemerge.kernel import add_overlay as define_overlay
from lakemerge.kernel.ports.metastore import HiveTable, Refused
from lakemerge.kernel.table.manifest import Manifest
from lakemerge.testing import World

NAME = TableName("s", "t")
BASE, DELTAS = TableName("s", "t__base"), TableName("s", "t__deltas")
SHAPES: dict[str, Rows] = {"partitioned": {"p=1": ["old"], "p=2": ["old"]}, "whole": {"": ["old"]}}
Work = Callable[[Kernel], object]


@pytest.fixture(params=SHAPES)
def shape(request: pytest.FixtureRequest, kernel: Kernel) -> str:
    """A table of this shape that is merged on read, with a delta."""
    create(kernel, NAME, SHAPES[request.param])
    add_overlay(kernel, NAME)
    add_delta(kernel, NAME, "delta 1")
    return str(request.param)


def replacing(kernel: Kernel) -> None:
    with kernel.begin(NAME, "replace") as txn:
        txn.replace_all()
        stage(kernel, txn, SHAPES["whole" if not txn.commit_column and not _keys(kernel) else "partitioned"])
        txn.commit()


def _keys(kernel: Kernel) -> tuple[object, ...]:
    return kernel.settled(NAME)[1].partition_columns


def widening(kernel: Kernel) -> None:
    with kernel.begin(NAME, "merge") as txn:
        txn.read()
        txn.set_schema(WIDER_COLUMNS)
        txn.commit()


def merging(kernel: Kernel) -> None:
    part = next(iter(rows_of(kernel, NAME)))
    with kernel.begin(NAME, "merge") as txn:
        txn.read([part])
        stage(kernel, txn, {part: ["new"]})
        txn.commit()


def test_the_name_is_a_view_and_the_base_has_the_versions(shape: str, kernel: Kernel) -> None:
    rows = {row.name: row.kind for row in kernel.metastore.table_summaries("s")}
    assert rows == {"t": "VIRTUAL_VIEW", "t__base": "MANAGED_TABLE", "t__deltas": "EXTERNAL_TABLE"}
    view = kernel.metastore.get_table(NAME)
    assert view is not None
    assert merged_deltas(kernel, NAME) == ("delta 1",)
    assert [column.name for column in view.columns] == [
        column.name for column in (*COLUMNS, *(KEYS if shape == "partitioned" else ()))
    ]
    assert view.partition_columns == ()
    assert kernel.table(NAME).name == BASE
    assert [commit.operation for commit in history(kernel, NAME)] == ["merge", "write_mode", "create"]
    assert published(kernel, NAME, "deltas") == ("delta 1",)


@pytest.mark.parametrize("work", [replacing, widening, merging])
def test_no_change_of_rows_or_columns_comes_below_deltas(work: Work, shape: str, kernel: Kernel) -> None:
    before = rows_of(kernel, NAME)
    with pytest.raises(InvalidTransactionState, match="only by delta files"):
        work(kernel)
    assert rows_of(kernel, NAME) == before
    assert_whole(kernel, NAME)


def test_moving_deltas_into_the_base_and_back_to_a_table(shape: str, kernel: Kernel) -> None:
    with kernel.begin(NAME, "write_mode") as txn, pytest.raises(InvalidTransactionState, match="deltas"):
        remove_overlay(txn)
    part = next(iter(SHAPES[shape]))
    move_into_base(kernel, NAME, {part: ["merged"]})
    assert merged_deltas(kernel, NAME) == ()
    assert published(kernel, NAME, "deltas") == ("delta 1",), "for readers that have read the view before"
    add_delta(kernel, NAME, "delta 2")
    with kernel.begin(NAME, "compact", data_change=False) as txn:
        assert txn.base is not None
        retire_folded(txn, txn.base.sidecars["folded_deltas"])
        txn.commit()
    assert published(kernel, NAME, "deltas") == ("delta 2",)
    move_into_base(kernel, NAME, {part: ["merged twice"]})
    with kernel.begin(NAME, "write_mode") as txn:
        remove_overlay(txn)
        txn.commit()
    assert [row.name for row in kernel.metastore.table_summaries("s")] == ["t"]
    assert rows_of(kernel, NAME)[part] == ["merged twice"]
    merging(kernel)
    assert_nothing_orphaned(kernel, NAME)


def test_what_a_delta_that_is_added_meanwhile_tells_later_commits_stays(shape: str, kernel: Kernel) -> None:
    part = next(iter(SHAPES[shape]))
    with kernel.begin(NAME, "compact", data_change=False) as txn:
        txn.read([part])
        stage(kernel, txn, {part: ["merged"]})
        assert txn.base is not None
        mark_folded(txn, txn.base.sidecars["deltas"])
        txn.properties = {**txn.base.properties, "max_sequence": ["1"], "rows": 2}
        with kernel.begin(NAME, "merge") as merge:
            merge.properties = {"max_sequence": ["2"]}
            merge.commit()
        txn.commit()
    properties = kernel.settled(NAME)[1].properties
    assert set(properties["max_sequence"]) == {"1", "2"}
    assert "rows" not in properties, "nobody knows how many there are by now"


def test_a_delta_that_is_added_meanwhile_stays(shape: str, kernel: Kernel) -> None:
    """A compaction neither fails by it nor takes it for its own."""
    part = next(iter(SHAPES[shape]))
    with kernel.begin(NAME, "compact", data_change=False) as txn:
        txn.read([part])
        stage(kernel, txn, {part: ["merged"]})
        assert txn.base is not None
        mark_folded(txn, txn.base.sidecars["deltas"])
        add_delta(kernel, NAME, "delta 2")
        txn.commit()
    manifest = kernel.settled(NAME)[1]
    assert [len(manifest.sidecars[kind]) for kind in ("deltas", "folded_deltas")] == [1, 1]
    assert published(kernel, NAME, "deltas") == ("delta 1", "delta 2")
    assert manifest.only_moves_rows


def test_a_compaction_is_no_conflict_for_a_delta(shape: str, kernel: Kernel) -> None:
    with kernel.begin(NAME, "merge") as txn:
        txn.read_side_data("deltas")
        kernel.files.write_text(f"{txn.sidecar_directory('deltas')}/part-0.orc", "delta 2")
        txn.add_sidecar("deltas", txn.sidecar_directory("deltas"))
        move_into_base(kernel, NAME, {next(iter(SHAPES[shape])): ["merged"]})
        txn.commit()
    assert published(kernel, NAME, "deltas") == ("delta 1", "delta 2")


@pytest.mark.parametrize("reads", ["all", "one"])
def test_a_compaction_is_no_conflict_for_a_delta_that_has_read_what_it_moves(
    shape: str, reads: str, kernel: Kernel
) -> None:
    part = next(iter(SHAPES[shape]))
    with kernel.begin(NAME, "merge") as txn:
        txn.let_rows_move()
        txn.read(None if reads == "all" else [part])
        txn.read_side_data("deltas")
        kernel.files.write_text(f"{txn.sidecar_directory('deltas')}/part-0.orc", "delta 2")
        txn.add_sidecar("deltas", txn.sidecar_directory("deltas"))
        for number in range(2):
            move_into_base(kernel, NAME, {part: [f"merged {number}"]})
        txn.commit()
    assert published(kernel, NAME, "deltas") == ("delta 1", "delta 2")
    assert rows_of(kernel, NAME)[part] == ["merged 1"]
    assert_whole(kernel, NAME)


def test_what_else_is_done_to_partitions_that_a_delta_has_read_is_a_conflict(kernel: Kernel) -> None:
    create(kernel, NAME, SHAPES["partitioned"])
    add_overlay(kernel, NAME)
    for number, other in enumerate((merging, insert_beside_a_move)):
        with kernel.begin(NAME, "merge") as txn:
            txn.let_rows_move()
            txn.read()
            other(kernel)
            kernel.files.write_text(f"{txn.sidecar_directory('deltas')}/part-0.orc", f"delta {number}")
            txn.add_sidecar("deltas", txn.sidecar_directory("deltas"))
            with pytest.raises(CommitConflict):
                txn.commit()
    assert published(kernel, NAME, "deltas") == ()


def insert_beside_a_move(kernel: Kernel) -> None:
    """Another program's rows come where a compaction has moved those of the partition to."""
    move_into_base(kernel, NAME, {"p=1": ["moved"]})
    place = kernel.metastore.partitions(BASE, ["p=1"])[0].location
    kernel.files.write_text(f"{place}/foreign.orc", "theirs")


def test_only_what_leaves_partitions_alone_lets_their_rows_be_moved(kernel: Kernel) -> None:
    create(kernel, NAME, SHAPES["partitioned"])
    with kernel.begin(NAME, "merge") as txn:
        txn.let_rows_move()
        txn.read(["p=1"])
        stage(kernel, txn, {"p=1": ["new"]})
        with pytest.raises(InvalidTransactionState, match="leaves partitions"):
            txn.commit()
    assert rows_of(kernel, NAME) == SHAPES["partitioned"]


def test_another_write_mode_is_a_conflict_for_who_works_on_the_table(kernel: Kernel) -> None:
    create(kernel, NAME, SHAPES["partitioned"])
    with kernel.begin(NAME, "append") as txn:
        stage(kernel, txn, {"p=1": ["new"]})
        add_overlay(kernel, NAME)
        with pytest.raises(CommitConflict, match="another write_mode"):
            txn.commit()
    assert rows_of(kernel, NAME) == SHAPES["partitioned"]


def test_a_name_that_is_taken_is_refused_before_anything_is_done(kernel: Kernel) -> None:
    create(kernel, NAME, SHAPES["whole"])
    make_plain(kernel, BASE, {"": ["somebody's"]})
    with pytest.raises(UnsupportedTable, match="t__base"):
        add_overlay(kernel, NAME)
    drop(kernel, BASE)
    make_plain(kernel, DELTAS, {"": ["somebody's"]})
    with pytest.raises(UnsupportedTable, match="t__deltas"):
        add_overlay(kernel, NAME)
    assert rows_of(kernel, NAME) == SHAPES["whole"]
    assert kernel.settled(NAME)[1].overlay is None


def test_a_table_that_looks_like_a_base_is_nobodys(kernel: Kernel) -> None:
    """Another model may have the name."""
    create(kernel, BASE, SHAPES["whole"])
    assert find_row(kernel.metastore, NAME) is None
    assert not kernel.exists(NAME)
    create(kernel, NAME, SHAPES["whole"])
    drop(kernel, NAME)
    assert rows_of(kernel, BASE) == SHAPES["whole"]


def test_a_view_that_another_program_has_dropped_is_made_again(shape: str, kernel: Kernel) -> None:
    kernel.metastore.drop_table(NAME)
    assert kernel.exists(NAME)
    add_delta(kernel, NAME, "delta 2")
    assert_whole(kernel, NAME)
    assert published(kernel, NAME, "deltas") == ("delta 1", "delta 2")


def test_a_drop_takes_view_base_and_deltas(shape: str, kernel: Kernel) -> None:
    drop(kernel, NAME)
    assert kernel.metastore.table_summaries("s") == []
    assert list(kernel.files.walk(kernel.default_root(NAME))) == []


def test_a_view_without_a_base_is_in_nobodys_way(shape: str, kernel: Kernel) -> None:
    """Its drop has died before it came to the view."""
    kernel.metastore.drop_table(BASE)
    assert not kernel.exists(NAME)
    create(kernel, NAME, SHAPES["whole"])
    assert rows_of(kernel, NAME) == SHAPES["whole"]
    assert_whole(kernel, NAME)


def test_vacuum_keeps_what_the_view_shows(shape: str, kernel: Kernel) -> None:
    vacuum(kernel, NAME, retention=NO_RETENTION, dry_run=False, allow_short_retention=True)
    assert published(kernel, NAME, "deltas") == ("delta 1",)
    assert_whole(kernel, NAME)


def test_consumers_are_told_that_deltas_have_no_partitions(shape: str, kernel: Kernel) -> None:
    with pytest.raises(UnsupportedTable, match="merged on read"):
        source_snapshot(kernel, NAME, None, None)


def test_an_older_lakemerge_stops_at_the_feature(
    shape: str, kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert kernel.settled(NAME)[1].writer_features == ("merge_on_read",)
    monkeypatch.setattr("lakemerge.kernel.table.manifest.WRITER_FEATURES", frozenset())
    with pytest.raises(TableTooNew):
        kernel.begin(NAME, "merge")


def test_the_manifest_says_how_it_is_read(shape: str, kernel: Kernel) -> None:
    manifest = kernel.settled(NAME)[1]
    assert Manifest.from_json(manifest.to_json(), "here") == manifest
    assert manifest.overlay is not None
    assert manifest.overlay.keys == ("line",)


def test_files_that_another_program_adds_to_the_base_are_taken_in(world: World, kernel: Kernel) -> None:
    create(kernel, NAME, SHAPES["partitioned"])
    add_overlay(kernel, NAME)
    place = kernel.metastore.partitions(BASE, ["p=1"])[0].location
    kernel.files.write_text(f"{place}/foreign.orc", "theirs")
    kernel.recover(NAME)
    assert rows_of(kernel, NAME)["p=1"] == ["old", "theirs"]
    assert kernel.settled(NAME)[1].overlay is not None
    assert_whole(kernel, NAME)


def test_other_partition_columns_need_a_table(shape: str, kernel: Kernel) -> None:
    with kernel.begin(NAME, "replace") as txn:
        txn.replace_all()
        txn.set_schema(COLUMNS, OTHER_KEYS)
        stage(kernel, txn, {"q=1/r=x": ["new"]})
        with pytest.raises(InvalidTransactionState):
            txn.commit()
    assert_whole(kernel, NAME)


def test_a_view_that_the_metastore_refuses_leaves_the_table_as_it_is(world: World, kernel: Kernel) -> None:
    """Its text may be too long, or whoever makes it may have no right to."""
    create(kernel, NAME, SHAPES["whole"])
    ports = world.process()

    class Refusing:
        def __getattr__(self, name: str) -> object:
            return getattr(ports.metastore, name)

        def create_table(self, table: HiveTable) -> None:
            raise Refused("createTable", "MetaException", "A truncation error was encountered")

    writer = Kernel(dataclasses.replace(ports, metastore=Refusing()))  # type: ignore[arg-type]
    with writer.begin(NAME, "write_mode") as txn, pytest.raises(UnsupportedTable, match="truncation"):
        define_overlay(txn, "select " + "x" * 40_000, ["line"])
    assert rows_of(kernel, NAME) == SHAPES["whole"]
    assert [row.name for row in kernel.metastore.table_summaries("s")] == ["t"]


def test_who_adopts_a_table_does_not_take_the_place_of_a_view_that_it_has_got_since(world: World) -> None:
    """All in the same second, the only thing that the adoption of a plain table can compare."""
    make_plain(Kernel(world.process()), NAME, SHAPES["partitioned"])
    other = Kernel(world.process())
    ports = world.process()
    late = Meanwhile(ports.metastore, "alter_table", lambda: add_overlay(other, NAME))
    writer = Kernel(dataclasses.replace(ports, metastore=late))
    assert writer.settled(NAME)[1].overlay is not None
    assert is_overlay_view(other.metastore.get_table(NAME))  # type: ignore[arg-type]
    assert rows_of(other, BASE) == SHAPES["partitioned"]
    assert_whole(other, NAME)


# -- others that come while the name is missing --------------------------------------------------


def in_the_gap(world: World, other: Callable[[], None]) -> Kernel:
    """A kernel whose commit renames the table to its base, whereupon another does something, once."""

    def reached(step: str) -> None:
        if step == "table renamed" and not done:
            done.append(step)
            other()

    done: list[str] = []
    return Kernel(world.process(), step=reached)


@pytest.mark.parametrize("together", [False, True], ids=["alone", "in a group"])
@pytest.mark.parametrize("rows", SHAPES)
def test_a_table_is_not_made_in_the_place_of_one_that_gets_a_view(
    rows: str, together: bool, world: World, kernel: Kernel
) -> None:
    """Two first runs at once: the second has found no table, and finds the name free when it makes its own."""
    late = Kernel(world.process())
    keys = KEYS if rows == "partitioned" else ()
    names = (NAME, TableName("s", "other"))[: 1 + together]
    opened = [late.create(TableDefinition(name, COLUMNS, keys)) for name in names]
    for txn in opened:
        stage(late, txn, {part: ["late"] for part in SHAPES[rows]})

    def make() -> None:
        with pytest.raises(CommitConflict, match="another writer made the table meanwhile"):
            late.commit_together(opened)
        for txn in opened:
            txn.abort()

    create(kernel, NAME, SHAPES[rows])
    add_overlay(in_the_gap(world, make), NAME)
    row = world.process().metastore.get_table(NAME)
    assert row is not None
    assert is_overlay_view(row)
    assert rows_of(kernel, NAME) == SHAPES[rows]
    kernel.recover(NAME)
    vacuum(kernel, NAME, retention=NO_RETENTION, dry_run=False, allow_short_retention=True)
    assert_nothing_orphaned(kernel, NAME)


def test_another_programs_table_in_the_place_is_told_and_the_view_comes_when_it_goes(
    world: World, kernel: Kernel
) -> None:
    metastore = world.process().metastore
    create(kernel, NAME, SHAPES["partitioned"])

    def make() -> None:
        make_plain(Kernel(world.process()), NAME, {"": ["theirs"]})

    with pytest.raises(CommitUnfinished, match="another program has made a table"):
        add_overlay(in_the_gap(world, make), NAME)
    metastore.drop_table(NAME)
    kernel.recover(NAME)
    row = metastore.get_table(NAME)
    assert row is not None
    assert is_overlay_view(row)
    assert rows_of(kernel, NAME) == SHAPES["partitioned"]


def test_recovery_puts_back_the_table_of_deltas_that_another_program_has_dropped(kernel: Kernel) -> None:
    create(kernel, NAME, SHAPES["partitioned"])
    add_overlay(kernel, NAME)
    add_delta(kernel, NAME, "delta")
    kernel.metastore.drop_table(DELTAS)
    assert published(kernel, NAME, "deltas") == ()
    assert kernel.recover(NAME) != []
    assert published(kernel, NAME, "deltas") == ("delta",)
    assert_whole(kernel, NAME)
