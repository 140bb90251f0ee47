"""Jinja parses and compiles each text once a process: dbt reads all macros again for each project and each `--vars`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jinja2 import Environment


def parse_once() -> None:
    """Have all environments of a kind share what they have parsed and compiled.

    dbt looks at a syntax tree, and runs code, but changes neither.
    """
    Environment.parse = _remembering(Environment.parse)  # type: ignore[method-assign]
    Environment.compile = _remembering(Environment.compile)  # type: ignore[method-assign]


def _remembering(method: Callable[..., Any]) -> Callable[..., Any]:
    known: dict[Any, Any] = {}

    def remembered(environment: Environment, source: Any, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(source, str):
            return method(environment, source, *args, **kwargs)
        kind = (type(environment), environment.lexer, environment.autoescape, *environment.extensions)
        key = (kind, source, args, tuple(kwargs.items()))
        if key not in known:
            known[key] = method(environment, source, *args, **kwargs)
        return known[key]

    return remembered
