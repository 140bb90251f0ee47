"""Where the engine gets its SQL from: macros, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol


class Macros(Protocol):
    """Macros by name: ``macros.lakemerge_new_rows_sql(txn)`` gives SQL.

    With dbt they are looked up as for a model, so that a macro of the same name in the user's project takes the place
    of ours; see ``DbtMacros``. Without dbt they are the package's own; see
    :class:`~lakemerge.engine.packaged_macros.PackagedMacros`.
    """

    def variable(self, name: str, default: Any) -> Any:
        """A variable of the project or of the command line; the default where there is none."""

    def __getattr__(self, name: str) -> Callable[..., Any]: ...
