"""Changes of one key and sequence that differ in nulls or empty values alone contradict each other, in every mode."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from dbt_common.exceptions import DbtRuntimeError
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from examples import OFTEN
from lakemerge.engine.history.scd2_driver import Scd2Merge
from rings import of_rings

Row = dict[str, Any]


def rarely(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(st.none(), st.none(), values)


# few values, so that a null or an empty value is most of what two of them differ in
NUMBER, TEXT = rarely(st.just(1)), rarely(st.just(""))
NUMBERS = rarely(st.lists(NUMBER, max_size=3))
MAP = rarely(st.dictionaries(st.sampled_from(["", "k"]), NUMBER, max_size=2))
DEEP_ITEM = rarely(
    st.fixed_dictionaries(
        {"a": NUMBER, "m": rarely(st.dictionaries(st.just("k"), st.lists(TEXT, max_size=2)))}
    )
)
COLUMNS: dict[str, tuple[str, st.SearchStrategy[Any]]] = {
    "debit": ("int", NUMBER),
    "credit": ("int", NUMBER),
    "note": ("string", TEXT),
    "raw": ("binary", rarely(st.just(bytearray()))),
    "s": (
        "struct<a:int,b:int,c:struct<d:string>>",
        rarely(
            st.fixed_dictionaries({"a": NUMBER, "b": NUMBER, "c": rarely(st.fixed_dictionaries({"d": TEXT}))})
        ),
    ),
    "l": ("array<int>", NUMBERS),
    "ll": ("array<array<int>>", rarely(st.lists(NUMBERS, max_size=3))),
    "m": ("map<string,int>", MAP),
    "deep": (
        "struct<l:array<struct<a:int,m:map<string,array<string>>>>>",
        rarely(st.fixed_dictionaries({"l": rarely(st.lists(DEEP_ITEM, max_size=2))})),
    ),
}
SCHEMA = ", ".join(["id int", *(f"{name} {kind}" for name, (kind, _) in COLUMNS.items()), "ts int"])

WHOLE = st.fixed_dictionaries({name: values for name, (_, values) in COLUMNS.items()})
ONE_COLUMN = st.sampled_from(sorted(COLUMNS)).flatmap(
    lambda name: st.tuples(
        *(COLUMNS[name][1].map(lambda value: {**dict.fromkeys(COLUMNS), name: value}) for _ in range(2))
    )
)
PAIRS = st.lists(st.one_of(ONE_COLUMN, ONE_COLUMN, st.tuples(WHOLE, WHOLE)), min_size=60, max_size=60)

#: Modes in which a contradiction is found within a feed.
MODES: dict[str, dict[str, Any]] = {
    "merge": {"sequence_by": "ts"},
    "no sequence": {"except_column_list": ["ts"]},
    "partial updates": {"sequence_by": "ts", "ignore_null_updates": True},
    "merge on read": {"sequence_by": "ts", "write_mode": "merge_on_read"},
    "history": {"sequence_by": "ts", "stored_as_scd_type": 2},
}


def feeds(drawn: list[tuple[Row, Row]]) -> tuple[list[Row], list[Row], int]:
    """The two sides of the pairs as changes, and how many pairs differ: one at least."""
    nothing = dict.fromkeys(COLUMNS)
    pairs = [({**nothing, "debit": 1}, {**nothing, "credit": 1}), *drawn]
    one, other = (
        [
            {"id": key, **{name: pair[side][name] for name in COLUMNS}, "ts": 1}
            for key, pair in enumerate(pairs)
        ]
        for side in range(2)
    )
    return one, other, sum(first != second for first, second in pairs)


def examples(check: Callable[[list[tuple[Row, Row]]], None], count: int) -> None:
    @given(pairs=PAIRS)
    @settings(
        max_examples=count,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        derandomize=count == 1,
        # a pair is shown by its number, and making the feed smaller takes a merge each time
        phases=[Phase.generate],
    )
    def run(pairs: list[tuple[Row, Row]]) -> None:
        check(pairs)

    run()


class _Counted(Exception):
    pass


OFTEN_TOO = [1, pytest.param(OFTEN, marks=pytest.mark.slow)]


@pytest.mark.parametrize("count", OFTEN_TOO)
class TestNullsAndEmptyValues:
    @pytest.mark.parametrize("mode", of_rings(MODES, ["partial updates", "merge on read", "history"]))
    def test_each_pair_within_a_feed_is_found(self, merger: Any, mode: str, count: int) -> None:
        def check(pairs: list[tuple[Row, Row]]) -> None:
            one, other, differing = feeds(pairs)
            table = merger({"unique_key": "id", **MODES[mode]}, SCHEMA)
            with pytest.raises(DbtRuntimeError, match="AmbiguousChange") as raised:
                table.merge([*one, *other])
            found = re.search(r"(\d+) keys with several different ones", str(raised.value))
            assert found is not None
            assert int(found[1]) == differing

        examples(check, count)

    def test_a_history_finds_those_of_later_feeds(
        self, merger: Any, count: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # the error itself names five keys at most
        def counted(driver: Any, plan: Any) -> Exception:
            sql = "select count(*) from lakemerge_versions where __contradicts"
            return _Counted(driver.queries.rows(sql)[0][0])

        monkeypatch.setattr(Scd2Merge, "_contradiction", counted)

        def check(pairs: list[tuple[Row, Row]]) -> None:
            one, other, differing = feeds(pairs)
            table = merger({"unique_key": "id", **MODES["history"]}, SCHEMA)
            table.merge(one)
            with pytest.raises(_Counted) as raised:
                table.merge(other)
            assert raised.value.args == (differing,)
            table.drop()

        examples(check, count)

    @pytest.mark.parametrize("mode", of_rings(["merge", "partial updates", "history"], ["partial updates"]))
    def test_any_of_them_is_the_same_in_any_order(self, merger: Any, mode: str, count: int) -> None:
        def check(pairs: list[tuple[Row, Row]]) -> None:
            one, other, _ = feeds(pairs)
            found = []
            for feed in ([*one, *other], [*other[::-1], *one]):
                table = merger({"unique_key": "id", **MODES[mode], "on_sequence_tie": "any"}, SCHEMA)
                table.merge(feed)
                found.append(table.rows())
                table.drop()
            assert found[0] == found[1]

        examples(check, count)
