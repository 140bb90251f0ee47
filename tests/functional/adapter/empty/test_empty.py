"""dbt's suite "empty": the flag ``--empty``."""

from __future__ import annotations

from importlib.metadata import version

import pytest
from dbt.tests.adapter.empty.test_empty import (
    BaseTestEmpty,
    BaseTestEmptyInlineSourceRef,
    BaseTestEmptySeedFlag,
    MetadataWithEmptyFlag,
)
from packaging.version import Version


class TestEmpty(BaseTestEmpty):
    pass


@pytest.mark.slow
class TestEmptyInlineSourceRef(BaseTestEmptyInlineSourceRef):
    pass


@pytest.mark.slow
class TestMetadataWithEmptyFlag(MetadataWithEmptyFlag):
    pass


@pytest.mark.skipif(
    Version(version("dbt-core")) < Version("1.12"), reason="dbt-core has no `dbt seed --empty` before 1.12"
)
class TestEmptySeedFlag(BaseTestEmptySeedFlag):
    pass
