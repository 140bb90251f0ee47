"""Fixtures of tests without Spark."""

from __future__ import annotations

import pytest

from lakemerge.engine.ingest import ingest_options
from lakemerge.engine.spark import releases


@pytest.fixture
def spark_4(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is done for Spark 4, whichever release is installed."""
    for module in (releases, ingest_options):
        monkeypatch.setattr(module, "is_spark_3", lambda: False)
