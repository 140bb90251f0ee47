"""Tables and files that are not there, which each commit asks for: no error, and nothing that pyspark looks into."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.errors.exceptions import captured

from lakemerge.kernel import TableName


class TestWhatIsMissing:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {}

    def test_it_takes_the_call_alone(self, project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        with project.adapter.connection_named("missing"):
            ports = project.adapter.handle.application.ports

        def converted(error: object) -> None:
            raise AssertionError("pyspark asks Java for the class of what it raised")

        converters = [name for name in ("_convert_exception", "convert_exception") if hasattr(captured, name)]
        assert converters, "the name of pyspark's function has changed"
        for name in converters:
            monkeypatch.setattr(captured, name, converted)
        schema = project.test_schema
        assert ports.metastore.get_table(TableName(schema, "nothing")) is None
        folder = f"{ports.metastore.database_location(schema)}/nothing"
        assert ports.files.list(folder) == []
        with pytest.raises(FileNotFoundError):
            ports.files.read_text(f"{folder}/none.json")
