"""The constraints of a model's contract that are checked on its rows before readers see them."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

from lakemerge.engine.sql_text import one_line_strings, quote


def enforced_checks(model: Mapping[str, Any]) -> dict[str, str]:
    """SQL that finds the rows which break the contract's constraints, by the constraint's name.

    If several constraints have one name, the later ones get their column, or ``model``, added to it.
    """
    if not (model.get("config", {}).get("contract") or {}).get("enforced"):
        return {}
    checks: dict[str, str] = {}
    for column in (model.get("columns") or {}).values():
        for constraint in column.get("constraints") or ():
            if constraint["type"] == "not_null":
                _add(
                    checks,
                    f"not_null_{column['name']}",
                    column["name"],
                    f"{quote(str(column['name']))} is null",
                )
            elif constraint["type"] == "check":
                label = constraint.get("name") or f"check_{column['name']}_{len(checks) + 1}"
                _add(checks, label, column["name"], f"not ({one_line_strings(constraint['expression'])})")
    for number, constraint in enumerate(model.get("constraints") or (), 1):
        if constraint["type"] == "check":
            label = constraint.get("name") or f"check_model_{number}"
            _add(checks, label, "model", f"not ({one_line_strings(constraint['expression'])})")
        elif constraint["type"] == "not_null":
            for name in constraint.get("columns") or ():
                _add(checks, f"not_null_{name}", "model", f"{quote(str(name))} is null")
    return checks


def _add(checks: dict[str, str], label: str, place: str, broken: str) -> None:
    """Add a check under a label that no other check has; a check that is there already is not added again."""
    labels = itertools.chain(
        (label, f"{label} ({place})"), (f"{label} ({place}, {number})" for number in itertools.count(2))
    )
    free = next(one for one in labels if checks.get(one, broken) == broken)
    checks[free] = broken
