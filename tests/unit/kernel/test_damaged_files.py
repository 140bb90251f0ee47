"""Small files of the protocol that another release wrote, or that somebody has damaged."""

from __future__ import annotations

import json

import pytest

from kernel.support import add_overlay, create, make_plain
from lakemerge.errors import CorruptTable, TableNotFound, TableTooNew
from lakemerge.kernel import Kernel, TableName
from lakemerge.kernel.maintenance.committed_tables import committed_tables
from lakemerge.kernel.maintenance.compaction_log import CompactionLog
from lakemerge.kernel.maintenance.history import commits_of, each_version
from lakemerge.kernel.maintenance.pins import oldest_pinned
from lakemerge.kernel.maintenance.staged import staged_versions
from lakemerge.kernel.protocol.groups import Group
from lakemerge.kernel.protocol.unanswered import UNSURE, unsure_of
from lakemerge.kernel.table.definition import with_parameters

NAME = TableName("s", "t")


@pytest.mark.parametrize(
    ("text", "error"),
    [
        pytest.param("{", CorruptTable, id="no JSON"),
        pytest.param(
            Group((), {}).to_json().replace("[]", '[{"root": "r"}]'), CorruptTable, id="half a member"
        ),
        pytest.param('{"format": 99, "members": [], "parameters": {}}', TableTooNew, id="a later format"),
    ],
)
def test_the_record_of_a_group_names_its_file(text: str, error: type[Exception]) -> None:
    with pytest.raises(error, match="the/file"):
        Group.from_json(text, "the/file")


def test_the_record_of_a_group_that_is_missing(kernel: Kernel) -> None:
    create(kernel, NAME, {"p=1": ["old"]})
    state = kernel.open(NAME)
    with pytest.raises(CorruptTable, match="no such file"):
        kernel.groups.read(state.layout, state.txn)


def test_the_description_of_a_rebuild_that_is_damaged(kernel: Kernel) -> None:
    create(kernel, NAME, {"p=1": ["old"]})
    layout = kernel.open(NAME).layout
    kernel.files.write_text(layout.rebuild_of("txn"), "{}")
    with pytest.raises(CorruptTable, match="Remove the file"):
        kernel.roll_forward.rebuilds.find(NAME)


def test_the_list_of_a_drop_by_an_earlier_release_is_finished(kernel: Kernel) -> None:
    """It is the directory that is to be deleted."""
    create(kernel, NAME, {"p=1": ["old"]})
    layout = kernel.open(NAME).layout
    kernel.metastore.drop_table(NAME)
    kernel.files.write_text(layout.dropping, layout.root)
    kernel.drops.finish(NAME)
    assert not kernel.files.list(layout.root)


def test_what_a_later_release_notes_of_unanswered_calls_is_passed_over(kernel: Kernel) -> None:
    create(kernel, NAME, {"p=1": ["old"]})
    row = with_parameters(kernel.table(NAME), {UNSURE: "a@soon b@12"})
    assert [entry.txn for entry in unsure_of(row, lambda: 13)] == ["b"]


def test_a_table_without_versions_has_no_history_and_no_compactions(kernel: Kernel) -> None:
    make_plain(kernel, NAME, {"p=1": ["plain"]})
    assert list(commits_of(kernel, NAME)) == list(each_version(kernel, NAME)) == []
    with pytest.raises(TableNotFound, match="with versions"):
        CompactionLog(kernel, NAME)


def test_a_name_without_a_star_is_taken_as_it_is(kernel: Kernel) -> None:
    assert committed_tables(kernel.metastore, NAME) == [NAME]
    create(kernel, NAME, {"p=1": ["old"]})
    add_overlay(kernel, NAME)
    assert committed_tables(kernel.metastore, TableName("s", "*")) == [NAME]
    assert committed_tables(kernel.metastore, TableName("s", "u*")) == []


def test_hidden_and_unknown_files_beside_pins_and_staged_versions_are_passed_over(kernel: Kernel) -> None:
    create(kernel, NAME, {"p=1": ["old"]})
    layout = kernel.open(NAME).layout
    now = kernel.clock.now()
    kernel.files.write_text(f"{layout.pins}/.half", "{")
    assert oldest_pinned(kernel.files, layout, now) > 2
    kernel.files.write_text(f"{layout.staged}/.half.json", "{")
    kernel.files.write_text(f"{layout.staged}/README", json.dumps({}))
    assert staged_versions(kernel, NAME, layout) == []
