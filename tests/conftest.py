"""Markers and the report header. Fixtures live in the conftest.py of each ring's own folder."""

from __future__ import annotations

from importlib.metadata import version

import pytest


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "slow: takes minutes or needs downloads; run by make test-all")


def pytest_report_header(config: pytest.Config) -> str:
    versions = [f"{name} {version(name)}" for name in ("dbt-lakemerge", "dbt-core", "dbt-spark", "pyspark")]
    return "versions: " + ", ".join(versions)
