"""dbt's suites "relations", "column_types", "catalog", "sample_mode" and "concurrency"."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.artifacts.schemas.catalog import CatalogArtifact
from dbt.tests.adapter.catalog import files
from dbt.tests.adapter.catalog.relation_types import CatalogRelationTypes
from dbt.tests.adapter.column_types import fixtures as column_types
from dbt.tests.adapter.column_types.test_column_types import BaseColumnTypes
from dbt.tests.adapter.concurrency.test_concurrency import BaseConcurrency
from dbt.tests.adapter.relations.test_changing_relation_type import BaseChangeRelationTypeValidator
from dbt.tests.adapter.relations.test_dropping_schema_named import BaseDropSchemaNamed
from dbt.tests.adapter.sample_mode.test_sample_mode import BaseSampleModeTest

ALL_TYPES = """
select
    cast(1 as smallint) as smallint_col,
    cast(2 as int) as int_col,
    cast(3 as bigint) as bigint_col,
    cast(4.0 as float) as real_col,
    cast(5.0 as double) as double_col,
    cast(6.0 as decimal(10, 2)) as numeric_col,
    '7' as text_col,
    cast('8' as varchar(20)) as varchar_col
"""


@pytest.mark.slow
class TestChangeRelationTypes(BaseChangeRelationTypeValidator):
    pass


class TestDropSchemaNamed(BaseDropSchemaNamed):
    pass


class TestColumnTypes(BaseColumnTypes):
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {"model.sql": ALL_TYPES, "schema.yml": column_types.schema_yml}

    def test_run_and_test(self, project: Any) -> None:
        self.run_and_test()


class TestCatalogRelationTypes(CatalogRelationTypes):
    @pytest.fixture(scope="class", autouse=True)
    def models(self) -> dict[str, str]:
        return {"my_table.sql": files.MY_TABLE, "my_view.sql": files.MY_VIEW}

    @pytest.mark.parametrize(
        ("node_name", "relation_type"),
        [
            ("seed.test.my_seed", "table"),
            ("model.test.my_table", "table"),
            ("model.test.my_view", "view"),
        ],
    )
    def test_relation_types_populate_correctly(
        self, docs: CatalogArtifact, node_name: str, relation_type: str
    ) -> None:
        super().test_relation_types_populate_correctly(docs, node_name, relation_type)


@pytest.mark.slow
class TestSampleMode(BaseSampleModeTest):
    pass


@pytest.mark.slow
class TestConcurrency(BaseConcurrency):
    pass
