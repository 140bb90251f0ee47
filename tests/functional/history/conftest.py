"""Histories are merged as masters are: see ``merge/conftest.py``."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.tests.util import run_dbt

from functional.merge.conftest import Merger


@pytest.fixture(scope="class")
def models() -> dict[str, str]:
    return {"nothing.sql": "select 1 as id"}


@pytest.fixture(scope="class")
def merger(project: Any) -> Any:
    """Makes a :class:`Merger`: ``merger(config, feed)``."""
    run_dbt(["run"])

    def make(config: dict[str, Any], feed: str) -> Merger:
        return Merger(project, {"stored_as_scd_type": 2, **config}, feed)

    return make
