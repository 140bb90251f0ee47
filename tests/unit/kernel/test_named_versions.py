"""Versions that have a name, beside vacuums."""

from __future__ import annotations

import logging

import pytest

from kernel.support import NO_RETENTION, create, files_below, make_plain, merge, rows_of
from lakemerge.errors import VersionVacuumed
from lakemerge.kernel import Kernel, TableName, find_version, history, vacuum
from lakemerge.testing import World

NAME = TableName("s", "t")


def name_version(kernel: Kernel, txn: str | None) -> None:
    with kernel.begin(NAME, "tag") as transaction:
        transaction.set_reference("before", txn)
        transaction.commit()


def free(world: World, kernel: Kernel) -> None:
    world.timeline.pass_by(10 * 86_400)
    vacuum(kernel, NAME, dry_run=False)


@pytest.mark.parametrize("is_named", [True, False])
def test_the_files_of_an_adopted_table_go_when_its_version_has_no_name_any_more(
    is_named: bool, world: World
) -> None:
    kernel = Kernel(world.process())
    make_plain(kernel, NAME, {"p=1": ["old"], "p=2": ["old"]})
    kernel.open(NAME)
    originals = {path for path in files_below(kernel, kernel.default_root(NAME)) if "_lakemerge" not in path}
    assert len(originals) == 2
    if is_named:
        name_version(kernel, history(kernel, NAME)[0].txn)
    merge(kernel, NAME, {"p=1": ["new"], "p=2": ["new"]})
    for _ in range(2):
        free(world, kernel)
    left = files_below(kernel, kernel.default_root(NAME)) & originals
    assert left == (originals if is_named else set())
    if is_named:
        name_version(kernel, None)
    for _ in range(2):
        free(world, kernel)
    assert files_below(kernel, kernel.default_root(NAME)) & originals == set()
    assert rows_of(kernel, NAME) == {"p=1": ["new"], "p=2": ["new"]}


def test_a_version_that_got_its_name_while_a_vacuum_was_at_work_stops_no_later_one(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    kernel = Kernel(world.process())
    create(kernel, NAME, {"p=1": ["1"]})
    first = history(kernel, NAME)[0].txn
    for number in range(2, 5):
        merge(kernel, NAME, {"p=1": [str(number)]})
    transaction = kernel.begin(NAME, "tag")
    transaction.set_reference("before", first)
    vacuum(kernel, NAME, retention=NO_RETENTION, dry_run=False, allow_short_retention=True)
    transaction.commit()
    with pytest.raises(
        VersionVacuumed, match=r"the version named before of s\.t to be kept; found versions 4 to 5"
    ):
        find_version(kernel, NAME, tag="before")
    with caplog.at_level(logging.WARNING):
        vacuum(kernel, NAME, retention=NO_RETENTION, dry_run=False, allow_short_retention=True)
    assert f"a named version (transaction {first}) is gone" in caplog.text
    assert rows_of(kernel, NAME) == {"p=1": ["4"]}
