"""The manifest and its JSON."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakemerge.errors import CorruptTable, TableTooNew
from lakemerge.kernel import HiveColumn, Manifest, PartitionState
from lakemerge.kernel.table.manifest import Delta

MANIFEST = Manifest(
    txn="20260101T000000-abc",
    version=3,
    parent="20251231T000000-abc",
    table_id="0123",
    operation="merge",
    columns=(HiveColumn("id", "bigint"), HiveColumn("naïve", "struct<a:int>", "a comment")),
    partition_columns=(HiveColumn("p", "string"),),
    file_format="orc",
    partitions={
        "p=1": PartitionState("_lakemerge/data/x/p=1", 2, 30, "d1"),
        "p=a%2Fb": PartitionState("file:/elsewhere", 1, 12, "d2"),
    },
    written=("p=1",),
    removed=("p=9",),
    committed_at="2026-01-01T00:00:00+00:00",
    metrics={"inserted": 5},
    properties={"rows": 7, "sequence": ["2026", 1]},
    sidecars={"ledger": ("_lakemerge/ledger/x",)},
    side_data_for={"ledger": {"key": [{"expression": "id", "type": "bigint"}]}},
    writer={"host": "here"},
    lease_seconds=30,
)

TEXTS = st.text(st.characters(codec="utf-8"), max_size=20)
STATES = st.builds(PartitionState, TEXTS, st.integers(0), st.integers(0), TEXTS)


def test_comes_back_from_json() -> None:
    assert Manifest.from_json(MANIFEST.to_json(), "m") == MANIFEST


@given(partitions=st.dictionaries(TEXTS, STATES, max_size=5), parent=st.none() | TEXTS, comment=TEXTS)
def test_comes_back_from_json_whatever_it_holds(
    partitions: dict[str, PartitionState], parent: str | None, comment: str
) -> None:
    manifest = replace(
        MANIFEST, partitions=partitions, parent=parent, columns=(HiveColumn("c", "int", comment),)
    )
    assert Manifest.from_json(manifest.to_json(), "m") == manifest


def test_a_version_that_follows_has_the_state_and_nothing_of_what_the_commit_before_did() -> None:
    commit = replace(
        MANIFEST,
        rewritten=("p=1",),
        side_data_touched={"ledger": None},
        fenced=("dead",),
        group="g",
        delta=Delta("t0", 1, 1),
        unread=("p=1",),
    )
    follower = commit.followed_by(txn="t4", operation="foreign", committed_at="2026-01-02T00:00:00+00:00")
    assert follower == replace(
        MANIFEST,
        txn="t4",
        version=4,
        parent=commit.txn,
        operation="foreign",
        written=(),
        removed=(),
        committed_at="2026-01-02T00:00:00+00:00",
        metrics={},
    )


def test_names_its_format() -> None:
    assert json.loads(MANIFEST.to_json())["format"] == 1
    assert json.loads(MANIFEST.to_json())["group"] is None


def test_refuses_a_newer_format() -> None:
    body = json.loads(MANIFEST.to_json()) | {"format": 2}
    with pytest.raises(TableTooNew, match=r"format 1.*found format 2.*upgrade"):
        Manifest.from_json(json.dumps(body), "m")


def test_passes_over_members_that_it_does_not_know() -> None:
    """A newer writer may add what older programs need not know."""
    body = json.loads(MANIFEST.to_json()) | {"a_later_member": [1]}
    assert Manifest.from_json(json.dumps(body), "m") == MANIFEST


def test_refuses_a_version_whose_features_its_readers_must_know() -> None:
    body = json.loads(MANIFEST.to_json()) | {"reader_features": ["deltas"]}
    with pytest.raises(TableTooNew, match=r"m to need no feature .* to be read; found deltas\. .*upgrade"):
        Manifest.from_json(json.dumps(body), "m")


def test_reads_a_version_whose_features_its_writers_must_know_and_does_not_follow_on_it() -> None:
    body = json.loads(MANIFEST.to_json()) | {"writer_features": ["deltas"]}
    manifest = Manifest.from_json(json.dumps(body), "m")
    with pytest.raises(TableTooNew, match=r"to be written; found deltas"):
        manifest.require_writer("m")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        "{}",
        '{"format": 1}',
        json.dumps(json.loads(MANIFEST.to_json()) | {"partitions": {"p=1": {"location": "x"}}}),
        MANIFEST.to_json()[:-40],
    ],
)
def test_refuses_what_is_no_manifest(text: str) -> None:
    with pytest.raises(CorruptTable, match=r"where-it-is"):
        Manifest.from_json(text, "where-it-is")


def test_touched_partitions_are_the_written_and_the_removed() -> None:
    assert MANIFEST.touched == {"p=1", "p=9"}


def test_totals() -> None:
    assert (MANIFEST.total_files, MANIFEST.total_bytes) == (3, 42)


@pytest.mark.parametrize(
    ("rewritten", "only_moves"), [((), False), (("p=1",), False), (("p=1", "p=9"), True), (("p=9",), False)]
)
def test_only_moves_rows_when_all_that_is_touched_is_rewritten(
    rewritten: tuple[str, ...], only_moves: bool
) -> None:
    assert replace(MANIFEST, rewritten=rewritten).only_moves_rows is only_moves
    nothing = replace(MANIFEST, written=(), removed=())
    assert not nothing.only_moves_rows, "a commit of side data alone"


@pytest.mark.parametrize(("operation", "rewritten"), [("compact", ("p=1", "p=9")), ("merge", ())])
def test_a_compaction_of_before_there_was_rewritten_only_moves_rows(
    operation: str, rewritten: tuple[str, ...]
) -> None:
    body = json.loads(replace(MANIFEST, operation=operation).to_json())
    del body["rewritten"]
    assert Manifest.from_json(json.dumps(body), "m").rewritten == rewritten
