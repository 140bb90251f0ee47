"""The constraints of a model's contract that are checked on its rows before readers see them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def enforced_checks(model: Mapping[str, Any]) -> dict[str, str]:
    """SQL that finds the rows which break the contract's constraints, by the constraint's name."""
    if not (model.get("config", {}).get("contract") or {}).get("enforced"):
        return {}
    checks = {}
    for column in (model.get("columns") or {}).values():
        for constraint in column.get("constraints") or ():
            if constraint["type"] == "not_null":
                checks[f"not_null_{column['name']}"] = f"`{column['name']}` is null"
            elif constraint["type"] == "check":
                label = constraint.get("name") or f"check_{column['name']}_{len(checks) + 1}"
                checks[label] = f"not ({constraint['expression']})"
    for number, constraint in enumerate(model.get("constraints") or (), 1):
        if constraint["type"] == "check":
            label = constraint.get("name") or f"check_model_{number}"
            checks[label] = f"not ({constraint['expression']})"
        elif constraint["type"] == "not_null":
            for name in constraint.get("columns") or ():
                checks[f"not_null_{name}"] = f"`{name}` is null"
    return checks
