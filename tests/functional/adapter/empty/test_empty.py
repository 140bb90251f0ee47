"""dbt's suite "empty": the flag ``--empty``."""

from __future__ import annotations

import pytest
from dbt.tests.adapter.empty.test_empty import (
    BaseTestEmpty,
    BaseTestEmptyInlineSourceRef,
    MetadataWithEmptyFlag,
)


class TestEmpty(BaseTestEmpty):
    pass


@pytest.mark.slow
class TestEmptyInlineSourceRef(BaseTestEmptyInlineSourceRef):
    pass


@pytest.mark.slow
class TestMetadataWithEmptyFlag(MetadataWithEmptyFlag):
    pass
