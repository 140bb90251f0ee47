"""dbt's suite "basic": materializations, tests, docs, connection."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.tests.adapter.basic import expected_catalog, test_ephemeral
from dbt.tests.adapter.basic.test_adapter_methods import BaseAdapterMethod
from dbt.tests.adapter.basic.test_base import BaseSimpleMaterializations
from dbt.tests.adapter.basic.test_docs_generate import BaseDocsGenerate, BaseDocsGenReferences
from dbt.tests.adapter.basic.test_empty import BaseEmpty
from dbt.tests.adapter.basic.test_ephemeral import BaseEphemeral
from dbt.tests.adapter.basic.test_generic_tests import BaseGenericTests
from dbt.tests.adapter.basic.test_get_catalog_for_single_relation import (
    BaseGetCatalogForSingleRelation,
)
from dbt.tests.adapter.basic.test_incremental import (
    BaseIncremental,
    BaseIncrementalBadStrategy,
    BaseIncrementalNotSchemaChange,
)
from dbt.tests.adapter.basic.test_singular_tests import BaseSingularTests
from dbt.tests.adapter.basic.test_singular_tests_ephemeral import BaseSingularTestsEphemeral
from dbt.tests.adapter.basic.test_table_materialization import BaseTableMaterialization
from dbt.tests.adapter.basic.test_validate_connection import BaseValidateConnection
from dbt.tests.util import AnyInteger, get_connection
from dbt_common.contracts.metadata import CatalogTable


def table_stats(adapter_type: str = "lakemerge") -> dict[str, Any]:
    """What the catalog tells of a table that the adapter made; dbt-spark has nothing to tell of an ORC table."""
    if adapter_type == "spark":
        return dict(expected_catalog.no_stats())
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


def integer_type(adapter_type: str) -> str:
    """The catalog's word for an integer of eight bytes."""
    return "long" if adapter_type == "spark" else "bigint"


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
    @pytest.fixture(autouse=True)
    def _without_the_packages_hook(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """dbt's test counts the project's nodes; a package's hook at the end of a run is one more."""

        read = test_ephemeral.get_manifest

        def get_manifest(root: str) -> Any:
            manifest = read(root)
            nodes = manifest.nodes if manifest else {}
            for name in [name for name, node in nodes.items() if node.package_name == "dbt_lakemerge"]:
                del nodes[name]
            return manifest

        monkeypatch.setattr(test_ephemeral, "get_manifest", get_manifest)


@pytest.mark.slow
class TestIncremental(BaseIncremental):
    pass


@pytest.mark.slow
class TestIncrementalNotSchemaChange(BaseIncrementalNotSchemaChange):
    pass


class TestIncrementalBadStrategy(BaseIncrementalBadStrategy):
    pass


@pytest.mark.slow
class TestGenericTests(BaseGenericTests):
    pass


@pytest.mark.slow
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
            id_type=integer_type(project.adapter_type),
            text_type="string",
            time_type="timestamp",
            view_type="view",
            table_type="table",
            model_stats=expected_catalog.no_stats(),
            seed_stats=table_stats(project.adapter_type),
        )


@pytest.mark.slow
class TestDocsGenReferences(ReadsArtifacts, BaseDocsGenReferences):
    @pytest.fixture(scope="class")
    def expected_catalog(self, project: Any, profile_user: str) -> dict[str, Any]:
        return expected_catalog.expected_references_catalog(
            project,
            role=profile_user,
            id_type=integer_type(project.adapter_type),
            text_type="string",
            time_type="timestamp",
            bigint_type=integer_type(project.adapter_type),
            view_type="view",
            table_type="table",
            model_stats=table_stats(project.adapter_type),
            seed_stats=table_stats(project.adapter_type),
            view_summary_stats=expected_catalog.no_stats(),
        )


class TestGetCatalogForSingleRelation(BaseGetCatalogForSingleRelation):
    COLUMNS = (
        ("id", "bigint"),
        ("first_name", "string"),
        ("email", "string"),
        ("ip_address", "string"),
        ("updated_at", "timestamp"),
    )

    def expected(self, project: Any, owner: str, name: str, kind: str, stats: dict[str, Any]) -> CatalogTable:
        return CatalogTable.from_dict(
            {
                "metadata": {"type": kind, "schema": project.test_schema, "name": name, "owner": owner},
                "columns": {
                    column: {"name": column, "type": type_name, "index": index}
                    for index, (column, type_name) in enumerate(self.COLUMNS, 1)
                },
                "stats": {name: {"description": None, **stat} for name, stat in stats.items()},
            }
        )

    @pytest.fixture(scope="class")
    def expected_catalog_my_seed(self, project: Any, profile_user: str) -> CatalogTable:
        return self.expected(project, profile_user, "my_seed", "table", table_stats())

    @pytest.fixture(scope="class")
    def expected_catalog_my_view_model(self, project: Any, profile_user: str) -> CatalogTable:
        stats = expected_catalog.no_stats()
        return self.expected(project, profile_user, "my_view_model", "view", stats)

    def test_of_what_is_not_there_there_is_none(self, project: Any) -> None:
        relation = project.adapter.Relation.create(schema=project.test_schema, identifier="absent")
        with get_connection(project.adapter):
            assert project.adapter.get_catalog_for_single_relation(relation) is None
