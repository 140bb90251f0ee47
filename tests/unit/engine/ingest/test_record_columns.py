"""What an ingest's yml may not say of columns that no record has; what it may is shown by the example's shipments."""

from __future__ import annotations

from typing import Any

import pytest

from lakemerge.engine.ingest.ingest_options import IngestOptions
from lakemerge.engine.ingest.record_types import record_columns
from lakemerge.errors import InvalidConfig


@pytest.mark.parametrize(
    ("columns", "config", "found"),
    [
        ({"_line": "string"}, {"record_columns": ["_line"]}, "_line has the data_type string, and is bigint"),
        ({"_commit": "int"}, {}, "_commit has the data_type int, and is bigint"),
        ({"_line": None}, {}, "_line has no data_type"),
        ({"_commit": None}, {"commit_column": "added"}, "_commit has no data_type"),
    ],
)
def test_what_it_cannot_be_is_refused(
    columns: dict[str, str | None], config: dict[str, Any], found: str
) -> None:
    described = {name: {"name": name, "data_type": kind} for name, kind in {"id": "int", **columns}.items()}
    config = {"landing": "/landing", **config}
    with pytest.raises(InvalidConfig, match=found):
        record_columns({"columns": described, "config": config}, IngestOptions.of(config))
