"""dbt's suite "caching"."""

from __future__ import annotations

import pytest
from dbt.tests.adapter.caching.test_caching import (
    BaseCachingLowercaseModel,
    BaseCachingSelectedSchemaOnly,
    BaseCachingUppercaseModel,
    BaseNoPopulateCache,
)


@pytest.mark.slow
class TestCachingLowercaseModel(BaseCachingLowercaseModel):
    pass


class TestCachingUppercaseModel(BaseCachingUppercaseModel):
    pass


@pytest.mark.slow
class TestCachingSelectedSchemaOnly(BaseCachingSelectedSchemaOnly):
    pass


@pytest.mark.slow
class TestNoPopulateCache(BaseNoPopulateCache):
    pass
