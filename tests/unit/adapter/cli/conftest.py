"""These tests run dbt in this process, which keeps the adapter of its last project."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from dbt.adapters.factory import reset_adapters


@pytest.fixture(autouse=True)
def _adapters() -> Iterator[None]:
    """Leave no adapter with the profile of a project that is gone to the tests that follow."""
    yield
    reset_adapters()
