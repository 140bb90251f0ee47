"""The page of all options is that of today's code and guides."""

from __future__ import annotations

import pytest

import write_options
from write_options import PAGE, descriptions, page, sections


def test_the_page_is_up_to_date() -> None:
    assert page() == PAGE.read_text(), "make options"


def test_an_option_that_no_guide_tells_of_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    without = {**descriptions("merge")}
    del without["sequence_by"]
    monkeypatch.setattr(
        write_options, "descriptions", lambda guide: without if guide == "merge" else descriptions(guide)
    )
    with pytest.raises(
        LookupError, match="expected a row for `sequence_by` in a table of merge, merge-on-read"
    ):
        page()


def test_options_stand_where_they_are_read_first() -> None:
    found = sections()
    assert "partition_by" in found["All tables"]
    assert "partition_by" not in found["Strategy merge"]
    assert found["Strategy merge"]["sync"].values == ("none", "full")
    assert found["Histories"]["history_partition"].default == "dbt_closed_in"
    assert found["Arguments of consume()"]["pin"].default == "7 days"
