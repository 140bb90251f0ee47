"""What a machine must have for some of the tests, and whether they may be skipped where it has not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

#: Names of what is installed for certain, as ``postgres trino hive``: tests that need it then fail where it is missing.
REQUIRED = "LAKEMERGE_REQUIRED_ENGINES"


def require(name: str, missing: str) -> None:
    """Skip the test if something is missing; fail it where the environment says that it must be there.

    Args:
        missing: what is missing, and how to install it; empty where nothing is.
    """
    if not missing:
        return
    if name in os.environ.get(REQUIRED, "").split():
        pytest.fail(f"{REQUIRED} names {name}: {missing}")
    pytest.skip(missing)


def folder_of(name: str, variable: str) -> Path:
    """Where a script has installed an engine: the folder that the variable names, or one in the user's cache."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(os.environ.get(variable) or cache / "lakemerge" / name)
