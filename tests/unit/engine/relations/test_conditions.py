from __future__ import annotations

import re

import pytest

from lakemerge.engine.relations.conditions import all_of, any_of


def test_some_conditions_stand_in_a_row() -> None:
    assert all_of(["a = 1", "b or c"]) == "(a = 1)\nand (b or c)"
    assert any_of(["a = 1", "b and c"]) == "(a = 1)\nor (b and c)"


def test_no_condition_is_true_of_all_and_of_none() -> None:
    assert all_of([]) == "true"
    assert any_of([]) == "false"


@pytest.mark.parametrize("count", [16, 17, 255, 257, 5000])
def test_many_conditions_are_a_tree_of_short_rows(count: int) -> None:
    text = all_of(f"c{number}" for number in range(count))
    assert re.findall(r"c\d+", text) == [f"c{number}" for number in range(count)]
    depth = deepest = 0
    for sign in text:
        depth += {"(": 1, ")": -1}.get(sign, 0)
        deepest = max(deepest, depth)
    assert depth == 0
    assert deepest <= 4
    for row in re.findall(r"\((c\d+\) and (?:\(c\d+\)(?: and )?)+)\)", text):
        assert row.count(" and ") < 16


def test_a_tree_says_what_a_row_says() -> None:
    values = [True] * 300
    for wrong in (None, 0, 150, 299):
        given = [value and number != wrong for number, value in enumerate(values)]
        assert eval(all_of(map(str, given)).replace("\n", " ")) is (wrong is None)
        assert eval(any_of(str(not value) for value in given).replace("\n", " ")) is (wrong is not None)
