"""A snapshot has Spark send rows to every task only where they were counted and are few."""

from __future__ import annotations

from pathlib import Path

import pytest

from render_macros import Macros

FOLDER = Path(__file__).parents[2] / "macros"
MACROS = Macros(FOLDER)
DOCUMENTED = MACROS.described()


@pytest.mark.parametrize("few", [True, False])
@pytest.mark.parametrize("name", ["lakemerge_ended_rows_sql", "lakemerge_timed_changes_sql"])
def test_keys_that_come_back_are_sent_to_every_task_if_they_are_few(name: str, few: bool) -> None:
    entry = DOCUMENTED[name]
    sample = {**next(iter(entry.samples())), "with_ended": True, "broadcast": few}
    arguments = {argument: sample[argument] for argument, _ in entry.arguments}
    texts = MACROS._render(name, arguments).sql
    assert ["broadcast(" in text for text in texts] == [few] * len(texts)
    assert texts
