"""SQL of many columns is long, and no deeper than that of few.

Spark reads, plans and compiles an expression by recursion: SQL that nests with the number of columns, in parentheses or
in a row of `and`s, works for hundreds of columns and ends in a StackOverflowError at some thousand.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from lakemerge.engine.history.scd2_plan import Scd2Plan
from lakemerge.engine.history.snapshots import SnapshotPlan
from lakemerge.engine.ingest.ingest_plan import IngestPlan, RecordGroup
from lakemerge.engine.ingest.route_plan import RoutePlan, RoutingPlan
from lakemerge.engine.merge.merge_plan import MergePlan
from render_macros import Macros
from sample_arguments import SampleTransaction, sample_values

FOLDER = Path(__file__).parents[2] / "macros"
MACROS = Macros(FOLDER)
DOCUMENTED = MACROS.described()
FEW, MANY = 20, 120
# Levels that a tree of conditions adds between the two; a row of them would add a level for each column.
MOST_LEVELS = 40
# Arguments that hold a table's columns.
WIDE = ("plan", "merge", "scd2", "snapshot", "txn")

_TOKENS = re.compile(r"'(?:[^'\\]|\\.)*'|`[^`]*`|\|\||<=>|[(),;+]|\w+")
# What joins two operands to one, and so makes a row of them a level each.
_JOINING = {"and", "or", "||", "+"}
_SEPARATING = {",", ";", "select", "from", "where", "when", "then", "else", "as", "on", "by", "end"}


def depth(sql: str) -> int:
    """How deep SQL is nested: parentheses, and rows of operators that take two operands."""
    rows, unions, deepest = [0], [0], 0
    for token in _TOKENS.findall(sql.lower()):
        if token == "(":
            rows.append(0)
            unions.append(0)
        elif token == ")":
            rows.pop()
            unions.pop()
        elif token == "union":
            unions[-1] += 1
        elif token in _JOINING:
            rows[-1] += 1
        elif token in _SEPARATING:
            rows[-1] = 0
        deepest = max(deepest, len(rows) + sum(rows) + sum(unions))
    return deepest


def many(items: Sequence[Any], count: int, **named: str) -> tuple[Any, ...]:
    """So many items: the given ones, and copies of the last under other names.

    Args:
        named: attributes that hold the name.
    """
    copies = [
        dataclasses.replace(items[number % len(items)], **{name: f"{name}_{number}" for name in named})
        for number in range(count)
    ]
    return (*items, *copies)


def widened(value: Any, count: int) -> Any:
    """A sample with so many columns more."""
    if isinstance(value, IngestPlan):
        columns = many([column for column in value.columns if not column.constant], count, name="", field="")
        groups = [_widened_group(group, columns) for group in value.groups]
        checks = {f"not_null_{column.name}": f"{column.quoted} is null" for column in columns}
        routing = value.routing and widened(value.routing, count)
        return dataclasses.replace(value, columns=columns, groups=groups, constraints=checks, routing=routing)
    if isinstance(value, RoutingPlan):
        return dataclasses.replace(
            value, routes=tuple(_widened_route(route, count) for route in value.routes)
        )
    if isinstance(value, MergePlan):
        wide = list(value.columns)
        for number in range(count):
            column = value.columns[number % 2]
            plan = dataclasses.replace(column.plan, name=f"column_{number}")
            wide.insert(1, dataclasses.replace(column, plan=plan))
        return dataclasses.replace(value, columns=tuple(wide))
    if isinstance(value, Scd2Plan):
        merge = widened(value.merge, count)
        plans = (*(column.plan for column in merge.columns), *value.columns[len(value.merge.columns) :])
        tracked = tuple(column for column in merge.columns if column not in merge.keys)
        return dataclasses.replace(value, merge=merge, tracked=tracked, columns=plans)
    if isinstance(value, SnapshotPlan):
        return dataclasses.replace(value, columns=(*many(value.columns[:1], count, name=""), *value.columns))
    if isinstance(value, SampleTransaction):
        return SampleTransaction((*many(value.plan.columns[:1], count, name=""), *value.plan.columns))
    raise TypeError(f"{value!r} has no columns")


def _widened_route(route: RoutePlan, count: int) -> RoutePlan:
    copies = [
        dataclasses.replace(one, column=dataclasses.replace(one.column, name=f"name_{number}"))
        for number, one in zip(range(count), itertools.cycle(route.columns))
    ]
    return dataclasses.replace(route, columns=(*route.columns, *copies))


def _widened_group(group: RecordGroup, columns: Sequence[Any]) -> RecordGroup:
    typed = dict(group.typed)
    if typed:
        some = next(iter(typed.values()))
        typed = {column.name: some for column in columns}
    fields = tuple(column.field for column in columns)
    return dataclasses.replace(group, fields=fields, columns=tuple(columns), typed=typed)


def renderings(name: str, count: int) -> Iterator[str]:
    """The texts of a macro for tables of so many columns more than the samples have."""
    entry = DOCUMENTED[name]
    wide = [argument for argument, _ in entry.arguments if argument in WIDE]
    first = next(iter(entry.samples()))
    for argument in wide:
        for sample in sample_values(argument, "any"):
            values = {**first, **{other: widened(first[other], count) for other in wide}}
            values[argument] = widened(sample, count)
            if "group" in values:
                values["group"] = values["plan"].groups[0]
            yield from MACROS._render(name, values).sql


CONCERNED = sorted(
    name
    for name, entry in DOCUMENTED.items()
    if not entry.skip and any(argument in WIDE for argument, _ in entry.arguments)
)


@pytest.mark.parametrize("name", CONCERNED)
def test_sql_is_no_deeper_for_more_columns(name: str) -> None:
    for few, wide in zip(renderings(name, FEW), renderings(name, MANY), strict=True):
        assert depth(wide) < depth(few) + MOST_LEVELS, wide[:2000]
        assert len(wide) < 1.5 * MANY / FEW * len(few)


def test_depth_counts_parentheses_and_rows_of_operators() -> None:
    assert depth("select a, b, c from t") == 1
    assert depth("select f(g(a), (b))") == 3
    assert depth("select a and b and c") == 3
    assert depth("select (a and b) and (c and d)") == 4
    assert depth("select 1 union all select 2 union all select 3") == 3
    assert depth("select 'a and (b', `or (`") == 1
