"""The options of a request beside the rules of its table."""

from __future__ import annotations

from typing import Any

import pytest

from lakemerge.engine.merge.merge_options import MergeConfig
from lakemerge.engine.request import Request, _options
from lakemerge.errors import InvalidConfig, UnsupportedTable
from lakemerge.kernel import TableName
from lakemerge.table_rules import TableRules

NAME = TableName("shop", "orders")
MERGE = TableRules("merge", {"unique_key": ["id"], "sequence_by": ["ts"]}, {"positive": "n > 0"}).text
APPEND = TableRules("append").text


def options(strategy: str, recorded: str | None, **given: Any) -> tuple[Any, Any]:
    return _options(Request("shop.orders", strategy, given), NAME, recorded)


def test_what_is_not_given_is_that_of_the_rules() -> None:
    found, constraints = options("merge", MERGE, apply_as_deletes="gone", unique_key=None)
    assert isinstance(found, MergeConfig)
    assert (found.unique_key, found.sequence_by, found.apply_as_deletes) == (("id",), ("ts",), "gone")
    assert constraints == {"positive": "n > 0"}
    assert options("merge", MERGE, unique_key="ID", sequence_by=["ts"])[0].unique_key == ("id",)


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"unique_key": "name"}, "unique_key"),
        (
            {"sequence_by": "id", "on_sequence_tie": "any"},
            "on_sequence_tie.*sequence_by|sequence_by.*on_sequence_tie",
        ),
        ({"write_mode": "merge_on_read"}, "write_mode: 'copy_on_write', not 'merge_on_read'"),
    ],
)
def test_another_rule_is_refused_with_the_difference(given: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidConfig, match=named):
        options("merge", MERGE, **given)


@pytest.mark.parametrize(
    ("strategy", "recorded"),
    [
        ("append", MERGE),
        ("replace", MERGE),
        ("insert_overwrite", MERGE),
        ("merge", APPEND),
        ("append", ""),
        ("replace", ""),
    ],
)
def test_another_strategy_is_refused(strategy: str, recorded: str) -> None:
    with pytest.raises(UnsupportedTable, match=r"shop\.orders; found one that is written by"):
        options(strategy, recorded, unique_key="id" if strategy == "merge" else None)


@pytest.mark.parametrize(
    ("strategy", "recorded"),
    [("append", APPEND), ("replace", APPEND), ("replace", None), ("insert_overwrite", ""), ("append", None)],
)
def test_a_strategy_that_fits_passes(strategy: str, recorded: str | None) -> None:
    assert options(strategy, recorded)[1] == {}


@pytest.mark.parametrize("recorded", [None, "", MERGE])
@pytest.mark.parametrize("given", [{"nonsense_by": "ts"}, {"unique_keys": "id"}, {"publish": "after_tests"}])
def test_an_option_that_is_none_is_refused(recorded: str | None, given: dict[str, Any]) -> None:
    with pytest.raises(InvalidConfig, match=next(iter(given))):
        options("merge", recorded, **{"unique_key": "id", **given})
