from __future__ import annotations

import dataclasses

import pytest

from lakemerge.engine.operations.commit_times import version_at
from lakemerge.errors import InvalidConfig
from lakemerge.kernel.table.manifest import Manifest


def commits(*times: str, first_parent: str | None = None) -> list[Manifest]:
    """Commits at these times, from version 1 on; the newest comes first."""
    base = Manifest("t", 0, None, "i", "merge", (), (), "orc", {}, (), (), "")
    made = [
        dataclasses.replace(
            base, version=number, committed_at=time, parent="t" if number > 1 else first_parent
        )
        for number, time in enumerate(times, 1)
    ]
    return made[::-1]


KEPT = commits("2026-03-01T10:00:00+00:00", "2026-03-01T11:00:00+00:00")


@pytest.mark.parametrize(
    ("at", "version"),
    [
        ("2026-03-01 09:59:59", 0),
        ("2026-03-01 10:00:00", 1),
        ("2026-03-01 12:30:00+02:00", 1),
        ("2026-03-01 11:00:01", 2),
        ("2026-03-02", 2),
    ],
)
def test_the_last_commit_by_then(at: str, version: int) -> None:
    assert version_at(KEPT, at) == version


def test_a_time_of_which_nothing_is_kept() -> None:
    kept = commits("2026-03-01T10:00:00+00:00", first_parent="vacuumed")
    with pytest.raises(InvalidConfig, match="from 2026-03-01T10:00:00"):
        version_at(kept, "2026-02-01")


def test_what_is_no_time() -> None:
    with pytest.raises(InvalidConfig, match="'noon'"):
        version_at(KEPT, "noon")


def test_a_table_without_commits() -> None:
    assert version_at([], "2026-03-01") == 0
