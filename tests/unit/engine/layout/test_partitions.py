"""SQL that is true in some partitions of a table."""

from __future__ import annotations

from unittest.mock import Mock

import pytest

from lakemerge.engine.layout.partitions import Partitions
from lakemerge.kernel import HiveColumn


@pytest.mark.parametrize(("number", "whole"), [(2, False), (1001, True)])
def test_all_partitions_need_a_condition_unless_they_are_many(number: int, whole: bool) -> None:
    names = [f"day={day}" for day in range(number)]
    partitions = Partitions((HiveColumn("day", "int"),), Mock(partitions=dict.fromkeys(names)))
    assert (partitions.filter(names) == "true") is whole
    assert partitions.needs_all(names) is whole, "work without a condition says that it reads all"
    assert partitions.filter(names[1:]) != "true"
    assert partitions.filter(names, exact=True) != "true"
    assert partitions.filter(None) == "true"
