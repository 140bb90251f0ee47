"""The catalog of `dbt docs generate`, schema by schema."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from dbt.adapters.base import BaseRelation
from dbt.adapters.base.impl import catch_as_completed
from dbt.adapters.contracts.relation import RelationConfig
from dbt.adapters.spark.impl import SparkAdapter
from dbt_common.utils import executor

if TYPE_CHECKING:
    import agate


class CatalogsBySchema(SparkAdapter):
    """dbt's base class asks for all schemas of a database at once, and here all are of one."""

    def get_catalog(
        self, relation_configs: Iterable[RelationConfig], used_schemas: frozenset[tuple[str, str]]
    ) -> tuple[agate.Table, list[Exception]]:
        """The catalog of whole schemas; a schema that cannot be read leaves the others as they are."""
        schemas = self._get_catalog_schemas(relation_configs)
        return self._by_schema(
            (str(schema), self._get_one_catalog, info, {schema}, used_schemas)
            for info, names in schemas.items()
            for schema in names
        )

    def get_catalog_by_relations(
        self, used_schemas: frozenset[tuple[str, str]], relations: set[BaseRelation]
    ) -> tuple[agate.Table, list[Exception]]:
        """The catalog of these relations; a schema that cannot be read leaves the others as they are."""
        schemas: dict[str, list[BaseRelation]] = {}
        for relation in relations:
            schemas.setdefault(str(relation.schema).lower(), []).append(relation)
        return self._by_schema(
            (
                schema,
                self._get_one_catalog_by_relations,
                some[0].information_schema_only(),
                some,
                used_schemas,
            )
            for schema, some in schemas.items()
        )

    def _by_schema(self, calls: Iterable[tuple[Any, ...]]) -> tuple[agate.Table, list[Exception]]:
        with executor(self.config) as pool:
            return catch_as_completed(
                [pool.submit_connected(self, f"catalog of {schema}", *call) for schema, *call in calls]
            )
