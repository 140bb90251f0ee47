"""Options of the wrong kind are named with the others that are wrong."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.adapters.lakemerge.drivers import config_of
from dbt.adapters.lakemerge.options.reader import OptionReader

from lakemerge.errors import InvalidConfig


@pytest.mark.parametrize("value", [5, True, {"id": "int"}, [5], ["id", None]])
def test_names_are_a_string_or_a_list_of_strings(value: Any) -> None:
    with pytest.raises(InvalidConfig, match="unique_key must be a string or a list of strings, not"):
        config_of({"unique_key": value}, "merge")


def test_texts_are_a_mapping() -> None:
    problems: list[str] = []
    assert OptionReader({"tblproperties": 5}, problems).texts("tblproperties") == {}
    assert problems == ["tblproperties must be a mapping, not 5"]
