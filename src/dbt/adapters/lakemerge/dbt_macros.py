"""The project's macros, called from Python in the context of the node that runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dbt_common.exceptions import CompilationError


class DbtMacros:
    """Macros as a model sees them: one of the same name in the user's project takes the place of ours."""

    def __init__(self, context: Mapping[str, Any]) -> None:
        """
        Args:
            context: dbt's, which macros have in the variable of that name.
        """
        self._context = context

    def variable(self, name: str, default: Any) -> Any:
        """A variable of the project or of the command line."""
        var = self._context.get("var")
        return default if var is None else var(name, default)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        macro = self._context.get(name)
        if not callable(macro):
            raise CompilationError(
                f"Expected a macro {name}; found none. Install lakemerge again, which brings its macros."
            )
        found: Callable[..., Any] = macro
        return found
