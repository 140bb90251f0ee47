"""What the updates of a commit make of a version, and what they tell others that they touched."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakemerge.kernel import HiveColumn, Manifest, PartitionState, Reference
from lakemerge.kernel.commit.draft import Draft, ReplacedMeanwhile, SideDataMode
from lakemerge.kernel.commit.updates import (
    ChangeSideData,
    DescribeSideData,
    RemovePartitions,
    ReplaceAll,
    SetReference,
    SetSchema,
    Update,
    WritePartitions,
    in_order,
)

STATES = {name: PartitionState(f"somewhere/{name}", 1, 1, name) for name in ("p=1", "p=2", "p=3")}


def manifest(*folders: str, partitions: Mapping[str, PartitionState] | None = None) -> Manifest:
    return Manifest(
        "t",
        1,
        None,
        "i",
        "append",
        (),
        (),
        "orc",
        partitions or {},
        (),
        (),
        "2026-01-01T00:00:00+00:00",
        sidecars={"kind": folders} if folders else {},
    )


def after(
    *updates: Update, parent: Manifest | None, base: Manifest | None = None, present: tuple[str, ...] = ()
) -> Draft:
    draft = Draft(parent, base or parent, present)
    for update in in_order(updates):
        update.apply(draft)
    return draft


def side_data(mode: SideDataMode, concerns: frozenset[str] | None = None) -> ChangeSideData:
    return ChangeSideData("kind", ("mine",), mode, concerns)


class TestPartitions:
    def test_what_is_written_and_removed_is_touched(self) -> None:
        base = manifest(partitions={"p=1": STATES["p=1"], "p=2": STATES["p=2"]})
        draft = after(
            WritePartitions({"p=3": STATES["p=3"]}), RemovePartitions(frozenset({"p=1"})), parent=base
        )
        assert draft.partitions == {"p=2": STATES["p=2"], "p=3": STATES["p=3"]}
        assert (draft.written, draft.removed, draft.rewritten) == ({"p=3"}, {"p=1"}, set())

    def test_of_a_table_that_is_replaced_nothing_stays_in_whatever_order_that_is_said(self) -> None:
        base = manifest("a", partitions={"p=1": STATES["p=1"], "p=2": STATES["p=2"]})
        draft = after(
            WritePartitions({"p=2": STATES["p=3"]}), ReplaceAll(), parent=base, present=("p=1", "p=of others")
        )
        assert draft.partitions == {"p=2": STATES["p=3"]}
        assert (draft.written, draft.removed) == ({"p=2"}, {"p=1", "p=of others"})
        assert draft.sidecars == {}
        assert draft.side_data_touched == {"kind": None}
        assert draft.kept is None

    def test_rows_that_only_moved_are_told_apart(self) -> None:
        base = manifest(partitions={"p=1": STATES["p=1"], "p=2": STATES["p=2"]})
        moved = (
            RemovePartitions(frozenset({"p=1"}), data_change=False),
            WritePartitions({"p=2": STATES["p=3"]}, data_change=False),
        )
        assert after(*moved, parent=base).rewritten == {"p=1", "p=2"}
        both = after(*moved, WritePartitions({"p=2": STATES["p=1"]}), parent=base)
        assert both.rewritten == {"p=1"}, "one of the updates of the partition changes rows"

    def test_a_partition_has_the_version_in_its_name_where_it_was_staged_with_null(self) -> None:
        staged = WritePartitions({"d=1/v=__HIVE_DEFAULT_PARTITION__": STATES["p=1"]})
        assert list(staged.in_version("v", 7).states) == ["d=1/v=7"]
        assert staged.in_version("", 7) == staged

    @given(st.permutations(range(4)))
    def test_the_order_in_which_updates_were_given_does_not_matter(self, order: list[int]) -> None:
        base = manifest("a", partitions=STATES)
        column = (HiveColumn("x", "int"),)
        updates = [
            ReplaceAll(),
            SetSchema(column, (), "orc", ""),
            WritePartitions({"p=9": STATES["p=1"]}),
            side_data("add"),
        ]
        draft = after(*(updates[number] for number in order), parent=base)
        assert list(draft.partitions) == ["p=9"]
        assert draft.sidecars == {"kind": ("mine",)}
        assert draft.side_data_touched == {"kind": None}, "what was there is forgotten, which concerns all"


class TestSideData:
    @pytest.mark.parametrize(
        ("mode", "parent", "united"),
        [
            ("add", ("a", "b"), ("a", "b", "mine")),
            ("add", ("a", "b", "later"), ("a", "b", "later", "mine")),
            ("set", ("a", "b"), ("mine",)),
            ("fold", ("a", "b"), ("mine",)),
            ("fold", ("a", "b", "later"), ("mine", "later")),
        ],
    )
    def test_what_comes_together(
        self, mode: SideDataMode, parent: tuple[str, ...], united: tuple[str, ...]
    ) -> None:
        base = manifest("a", "b")
        assert after(side_data(mode), parent=manifest(*parent), base=base).sidecars["kind"] == united

    @pytest.mark.parametrize(
        ("mode", "parent"), [("set", ("a", "b", "later")), ("set", ("x",)), ("fold", ("x", "later"))]
    )
    def test_what_another_commit_has_replaced(self, mode: SideDataMode, parent: tuple[str, ...]) -> None:
        with pytest.raises(ReplacedMeanwhile, match="kind"):
            after(side_data(mode), parent=manifest(*parent), base=manifest("a", "b"))

    @pytest.mark.parametrize("mode", ["add", "set", "fold"])
    def test_a_table_that_is_made_or_replaced_has_only_mine(self, mode: SideDataMode) -> None:
        assert after(side_data(mode), parent=None).sidecars == {"kind": ("mine",)}
        replaced = after(ReplaceAll(), side_data(mode), parent=manifest("b"), base=manifest("a"))
        assert replaced.sidecars == {"kind": ("mine",)}

    @pytest.mark.parametrize("mode", ["add", "set", "fold"])
    def test_a_change_tells_whom_it_concerns(self, mode: SideDataMode) -> None:
        base = manifest("a")
        one = side_data(mode, frozenset({"p=1"}))
        assert after(one, parent=base).side_data_touched == {"kind": ("p=1",)}
        two = replace(one, concerns=frozenset({"p=2"}))
        assert after(one, two, parent=base).side_data_touched == {"kind": ("p=1", "p=2")}
        assert after(one, side_data(mode), parent=base).side_data_touched == {"kind": None}


class TestReferences:
    def test_a_name_goes_along_until_it_is_taken_away(self) -> None:
        base = replace(manifest(), references={"audited": Reference("t1")})
        assert after(parent=base).references == {"audited": Reference("t1")}
        assert after(ReplaceAll(), parent=base).references == {"audited": Reference("t1")}
        other = Reference("t2", expires_at="2027-01-01T00:00:00+00:00", table="t__audited")
        assert after(SetReference("audited", other), parent=base).references == {"audited": other}
        assert after(SetReference("audited", None), parent=base).references == {}

    def test_a_name_that_another_commit_has_moved(self) -> None:
        base = replace(manifest(), references={"audited": Reference("t1")})
        moved = replace(base, references={"audited": Reference("t2")})
        with pytest.raises(ReplacedMeanwhile, match="audited"):
            after(SetReference("audited", Reference("t3")), parent=moved, base=base)
        other = after(SetReference("mine", Reference("t3")), parent=moved, base=base)
        assert other.references == {"audited": Reference("t2"), "mine": Reference("t3")}


class TestWhatSideDataIsFor:
    @staticmethod
    def made_for(purpose: str | None) -> Manifest:
        return replace(manifest("a"), side_data_for={"kind": {"key": purpose}} if purpose else {})

    @staticmethod
    def described(purpose: str | None) -> DescribeSideData:
        return DescribeSideData("kind", {"key": purpose} if purpose else None)

    @pytest.mark.parametrize(
        ("base", "parent", "mine", "contested"),
        [
            ("x", "x", "y", False),
            ("x", "y", "y", False),
            (None, "y", "y", False),
            (None, "x", "y", True),
            ("x", "z", "y", True),
            ("x", None, "y", True),
            ("x", "y", None, True),
        ],
    )
    def test_one_commit_decides(
        self, base: str | None, parent: str | None, mine: str | None, contested: bool
    ) -> None:
        before, now, update = self.made_for(base), self.made_for(parent), self.described(mine)
        if contested:
            with pytest.raises(ReplacedMeanwhile, match="kind"):
                after(update, parent=now, base=before)
        else:
            assert after(update, parent=now, base=before).side_data_for == {"kind": {"key": mine}}

    def test_it_stays_until_a_commit_says_otherwise_or_replaces_all(self) -> None:
        parent = self.made_for("x")
        assert after(side_data("add"), parent=parent).side_data_for == {"kind": {"key": "x"}}
        assert after(self.described(None), parent=parent).side_data_for == {}
        assert after(ReplaceAll(), parent=parent).side_data_for == {}
        assert after(ReplaceAll(), self.described("y"), parent=parent).side_data_for == {"kind": {"key": "y"}}
