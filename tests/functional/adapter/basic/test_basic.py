"""dbt's suite "basic": materializations, tests, docs, connection."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.tests.adapter.basic import expected_catalog
from dbt.tests.adapter.basic.test_adapter_methods import BaseAdapterMethod
from dbt.tests.adapter.basic.test_base import BaseSimpleMaterializations
from dbt.tests.adapter.basic.test_docs_generate import BaseDocsGenerate, BaseDocsGenReferences
from dbt.tests.adapter.basic.test_empty import BaseEmpty
from dbt.tests.adapter.basic.test_ephemeral import BaseEphemeral
from dbt.tests.adapter.basic.test_generic_tests import BaseGenericTests
from dbt.tests.adapter.basic.test_incremental import (
    BaseIncremental,
    BaseIncrementalBadStrategy,
    BaseIncrementalNotSchemaChange,
)
from dbt.tests.adapter.basic.test_singular_tests import BaseSingularTests
from dbt.tests.adapter.basic.test_singular_tests_ephemeral import BaseSingularTestsEphemeral
from dbt.tests.adapter.basic.test_table_materialization import BaseTableMaterialization
from dbt.tests.adapter.basic.test_validate_connection import BaseValidateConnection
from dbt.tests.util import AnyInteger


def table_stats() -> dict[str, Any]:
    """What the catalog tells of a table that lakemerge made."""
    described = {
        "bytes": ("Size", "Bytes in files"),
        "rows": ("Rows", "Number of rows"),
        "files": ("Files", "Number of files"),
        "version": ("Version", "Commits since lakemerge made or adopted the table"),
    }
    stats = {
        name: {
            "id": name,
            "label": label,
            "value": AnyInteger(),
            "description": description,
            "include": True,
        }
        for name, (label, description) in described.items()
    }
    has_stats = {**expected_catalog.no_stats()["has_stats"], "value": True}
    return {**stats, "has_stats": has_stats}


class TestSimpleMaterializations(BaseSimpleMaterializations):
    pass


class TestSingularTests(BaseSingularTests):
    pass


@pytest.mark.slow
class TestSingularTestsEphemeral(BaseSingularTestsEphemeral):
    pass


class ReadsArtifacts:
    @pytest.fixture(scope="class")
    def writes_artifacts(self) -> bool:
        return True


class TestEmpty(ReadsArtifacts, BaseEmpty):
    pass


@pytest.mark.slow
class TestEphemeral(BaseEphemeral):
    pass


class TestIncremental(BaseIncremental):
    pass


class TestIncrementalNotSchemaChange(BaseIncrementalNotSchemaChange):
    pass


class TestIncrementalBadStrategy(BaseIncrementalBadStrategy):
    pass


class TestGenericTests(BaseGenericTests):
    pass


class TestTableMaterialization(BaseTableMaterialization):
    pass


class TestAdapterMethods(BaseAdapterMethod):
    pass


class TestValidateConnection(BaseValidateConnection):
    pass


class TestDocsGenerate(ReadsArtifacts, BaseDocsGenerate):
    @pytest.fixture(scope="class")
    def expected_catalog(self, project: Any, profile_user: str) -> dict[str, Any]:
        return expected_catalog.base_expected_catalog(
            project,
            role=profile_user,
            id_type="bigint",
            text_type="string",
            time_type="timestamp",
            view_type="view",
            table_type="table",
            model_stats=expected_catalog.no_stats(),
            seed_stats=table_stats(),
        )


@pytest.mark.slow
class TestDocsGenReferences(ReadsArtifacts, BaseDocsGenReferences):
    @pytest.fixture(scope="class")
    def expected_catalog(self, project: Any, profile_user: str) -> dict[str, Any]:
        return expected_catalog.expected_references_catalog(
            project,
            role=profile_user,
            id_type="bigint",
            text_type="string",
            time_type="timestamp",
            bigint_type="bigint",
            view_type="view",
            table_type="table",
            model_stats=table_stats(),
            seed_stats=table_stats(),
            view_summary_stats=expected_catalog.no_stats(),
        )
