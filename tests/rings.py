"""Which cases of a test the fast ring runs."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Any

import pytest


def of_rings(cases: Iterable[Any], fast: Container[Any]) -> list[Any]:
    """All cases of a parametrized test, of which those that are not fast are for the slow ring alone."""
    return [case if case in fast else pytest.param(case, marks=pytest.mark.slow) for case in cases]
