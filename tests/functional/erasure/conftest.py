"""Tables from which rows are erased."""

from __future__ import annotations

from functional.merge.conftest import merger
from functional.statements.conftest import models, program, statements

__all__ = ["merger", "models", "program", "statements"]
