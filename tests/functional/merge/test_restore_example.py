"""The guide's program that reads an earlier version of a table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

GUIDE = Path(__file__).parents[3] / "docs" / "guides" / "operating.md"
CONFIG = {"unique_key": "id", "sequence_by": "ts", "partition_by": "region"}


def program_of_the_guide() -> str:
    text = GUIDE.read_text(encoding="utf-8").partition("## Restore")[2]
    return text.partition("```python\n")[2].partition("```")[0]


@pytest.mark.slow
class TestRestoring:
    def test_an_earlier_version_is_read(self, merger: Any, project: Any) -> None:
        table = merger(CONFIG, "id bigint, region string, name string, ts bigint")
        table.merge(
            [
                {"id": 1, "region": "north", "name": "a", "ts": 1},
                {"id": 2, "region": None, "name": "b", "ts": 1},
            ]
        )
        before = sorted(table.rows(), key=lambda row: row["id"])
        table.merge([{"id": 1, "region": "south", "name": "c", "ts": 2}])
        program = program_of_the_guide().replace(
            '"shop", "products"', f'"{project.test_schema}", "{table.name}"'
        )
        program = program.replace("version == 12", "version == 1")
        with project.adapter.connection_named("restore"):
            names: dict[str, Any] = {"spark": project.adapter.handle.spark}
            exec(program, names)
            rows = [row.asDict() for row in names["frame"].orderBy("id").collect()]
        assert rows == before
