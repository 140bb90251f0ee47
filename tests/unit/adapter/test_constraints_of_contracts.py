"""Which rows break a contract: one rule for each constraint."""

from __future__ import annotations

from typing import Any

from dbt.adapters.lakemerge.constraints import enforced_checks

CHECK = {"type": "check", "name": "positive"}


def contract(*columns: dict[str, Any], constraints: tuple[dict[str, Any], ...] = ()) -> dict[str, Any]:
    return {
        "config": {"contract": {"enforced": True}},
        "columns": {column["name"]: column for column in columns},
        "constraints": constraints,
    }


def test_constraints_of_one_name_are_all_checked() -> None:
    price = {"name": "price", "constraints": [{**CHECK, "expression": "price > 0"}]}
    amount = {"name": "amount", "constraints": [{**CHECK, "expression": "amount > 0"}]}
    whole = {**CHECK, "expression": "price * amount > 0"}
    again = {**CHECK, "expression": "price + amount > 0"}
    assert enforced_checks(contract(price, amount, constraints=(whole, again))) == {
        "positive": "not (price > 0)",
        "positive (amount)": "not (amount > 0)",
        "positive (model)": "not (price * amount > 0)",
        "positive (model, 2)": "not (price + amount > 0)",
    }


def test_what_is_said_twice_is_checked_once() -> None:
    column = {"name": "id", "constraints": [{"type": "not_null"}]}
    twice = contract(column, constraints=({"type": "not_null", "columns": ["id"]},))
    assert enforced_checks(twice) == {"not_null_id": "`id` is null"}
