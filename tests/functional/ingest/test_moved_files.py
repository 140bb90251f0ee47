"""A file that is moved away after a run has listed it: the run goes on without it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from dbt_common.exceptions import DbtRuntimeError

from lakemerge.engine.ingest.record_source import RecordSource

pytestmark = pytest.mark.slow

FORMATS: dict[str, tuple[dict[str, Any], Callable[[int], str]]] = {
    "delimited": ({}, lambda number: f"{number}\n"),
    "with a header": ({"header": True}, lambda number: f"id\n{number}\n"),
    "json": ({"format": "json"}, lambda number: f'{{"id": {number}}}\n'),
}


@pytest.mark.parametrize("moment", ["opened", "read"])
@pytest.mark.parametrize(
    "form",
    ["delimited", "with a header", "json"],
)
def test_a_file_that_goes_before_it_is_read_is_left_out(
    ingester: Any, monkeypatch: pytest.MonkeyPatch, form: str, moment: str
) -> None:
    config, text = FORMATS[form]
    table = ingester(config, {"id": "int"})
    table.land("1", text(1))
    goes = [table.land("2", text(2))]
    original = RecordSource.open

    def open_and_move(source: RecordSource, *arguments: Any, **options: Any) -> Any:
        if moment == "read":
            groups = original(source, *arguments, **options)
        while goes:
            goes.pop().unlink()
        return groups if moment == "read" else original(source, *arguments, **options)

    monkeypatch.setattr(RecordSource, "open", open_and_move)
    assert "1 inserted" in str(table.run())
    assert table.rows() == [(1,)]
    assert table.history()[0]["version"] == 1


def test_an_error_of_files_that_stay_is_raised_at_once(
    ingester: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = ingester({}, {"id": "int"})
    table.land("1", "1\n")
    attempts = []

    def open_none(*_: Any, **__: Any) -> Any:
        attempts.append(1)
        raise FileNotFoundError("another file")

    monkeypatch.setattr(RecordSource, "open", open_none)
    with pytest.raises((DbtRuntimeError, FileNotFoundError)):
        table.run()
    assert len(attempts) == 1
