"""dbt's suite "persist_docs"."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.tests.adapter.persist_docs.test_persist_docs import (
    BasePersistDocs,
    BasePersistDocsAllColumnsMissing,
    BasePersistDocsColumnMissing,
    BasePersistDocsCommentOnQuotedColumn,
    BasePersistDocsQuotedColumnCaseSensitive,
)
from dbt.tests.util import run_dbt

from lakemerge.engine.relations.comments import MAX_COLUMN_COMMENT
from lakemerge.kernel.ports.names import TableName

LONG_COMMENT = "The key of a product. " * 20
LONG_YML = f"""
models:
  - name: long_table
    columns: [{{name: id, description: "{LONG_COMMENT}"}}]
  - name: long_view
    columns: [{{name: id, description: "{LONG_COMMENT}"}}]
"""


class TestPersistDocs(BasePersistDocs):
    pass


class TestLongComments:
    """A comment that the metastore has no room for is cut there; the table's parameters have the whole."""

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            "long_table.sql": "{{ config(materialized='table') }} select 1 as id",
            "long_view.sql": "select 1 as id",
            "properties.yml": LONG_YML,
        }

    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        return {"models": {"+persist_docs": {"relation": True, "columns": True}}}

    def test_long_comments_are_cut_in_the_metastore_only(self, project: Any) -> None:
        run_dbt(["run"])
        catalog = run_dbt(["docs", "generate"])
        with project.adapter.connection_named("__test"):
            metastore = project.adapter.handle.application.metastore
            tables = [
                metastore.get_table(TableName(project.test_schema, name))
                for name in ("long_table", "long_view")
            ]
        for table in tables:
            (column,) = table.columns
            assert len(column.comment) == MAX_COLUMN_COMMENT
            assert column.comment[:-1] == LONG_COMMENT[: MAX_COLUMN_COMMENT - 1]
            assert table.parameters["lakemerge.comment.id"] == LONG_COMMENT
            shown = catalog.nodes[f"model.test.{table.name.name}"].columns["id"].comment
            assert shown == LONG_COMMENT


@pytest.mark.slow
class TestPersistDocsColumnMissing(BasePersistDocsColumnMissing):
    pass


@pytest.mark.slow
class TestPersistDocsAllColumnsMissing(BasePersistDocsAllColumnsMissing):
    pass


@pytest.mark.slow
class TestPersistDocsQuotedColumnCaseSensitive(BasePersistDocsQuotedColumnCaseSensitive):
    pass


@pytest.mark.slow
class TestPersistDocsCommentOnQuotedColumn(BasePersistDocsCommentOnQuotedColumn):
    pass
