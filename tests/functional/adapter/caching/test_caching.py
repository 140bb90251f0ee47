"""dbt's suite "caching"."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.tests.adapter.caching.test_caching import (
    BaseCachingLowercaseModel,
    BaseCachingSelectedSchemaOnly,
    BaseCachingUppercaseModel,
    BaseNoPopulateCache,
)
from dbt.tests.util import run_dbt


class WithoutDatabase:
    """The suite's comparison, but for the database's name: Spark has none."""

    def run_and_inspect_cache(self, project: Any, run_args: list[str] | None = None) -> None:
        found = []
        for _ in range(2):
            run_dbt(run_args)
            assert len(project.adapter.cache.relations) == 1
            found.append(next(iter(project.adapter.cache.relations)))
        first, second = found
        assert first.schema == project.test_schema.lower()
        assert (first.schema, first.identifier) == (second.schema, second.identifier)


@pytest.mark.slow
class TestCachingLowercaseModel(WithoutDatabase, BaseCachingLowercaseModel):
    pass


class TestCachingUppercaseModel(WithoutDatabase, BaseCachingUppercaseModel):
    pass


@pytest.mark.slow
class TestCachingSelectedSchemaOnly(WithoutDatabase, BaseCachingSelectedSchemaOnly):
    pass


@pytest.mark.slow
class TestNoPopulateCache(WithoutDatabase, BaseNoPopulateCache):
    pass
