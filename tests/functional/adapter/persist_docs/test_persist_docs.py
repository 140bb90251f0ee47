"""dbt's suite "persist_docs"."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.adapters.lakemerge.comments import MAX_COLUMN_COMMENT
from dbt.tests.adapter.persist_docs.test_persist_docs import (
    BasePersistDocs,
    BasePersistDocsAllColumnsMissing,
    BasePersistDocsColumnMissing,
    BasePersistDocsCommentOnQuotedColumn,
    BasePersistDocsQuotedColumnCaseSensitive,
)
from dbt.tests.util import relation_from_name

from lakemerge.kernel.names import TableName


class TestPersistDocs(BasePersistDocs):
    # Not settled: finds 243 characters of 256 in one of the two relations.
    @pytest.mark.slow
    def test_long_comments_are_cut_in_the_metastore_only(self, project: Any) -> None:
        # the catalog, which the test above checks, has the whole text
        with project.adapter.connection_named("__test"):
            metastore = project.adapter.handle.application.metastore
            tables = [
                metastore.get_table(TableName(project.test_schema, name))
                for name in ("table_model", "view_model")
            ]
        for table in tables:
            comments = {column.name: column.comment for column in table.columns}
            assert len(comments["id"]) == MAX_COLUMN_COMMENT
            assert comments["id"].startswith("id Column description")
            assert len(table.parameters["lakemerge.comment.id"]) > MAX_COLUMN_COMMENT
        shown = project.run_sql(
            f"describe table {relation_from_name(project.adapter, 'table_model')}", fetch="all"
        )
        assert shown[0][2].startswith("id Column description")


class TestPersistDocsColumnMissing(BasePersistDocsColumnMissing):
    pass


@pytest.mark.slow
class TestPersistDocsAllColumnsMissing(BasePersistDocsAllColumnsMissing):
    pass


@pytest.mark.slow
class TestPersistDocsQuotedColumnCaseSensitive(BasePersistDocsQuotedColumnCaseSensitive):
    pass


class TestPersistDocsCommentOnQuotedColumn(BasePersistDocsCommentOnQuotedColumn):
    pass
