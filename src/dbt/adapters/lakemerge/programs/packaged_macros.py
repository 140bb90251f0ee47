"""The macros of this package, rendered without a dbt project."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dbt.adapters.lakemerge.impl import LakemergeAdapter
from dbt.adapters.lakemerge.publish.macros import Macros
from dbt.include.lakemerge import PACKAGE_PATH
from dbt_common.clients.jinja import BaseMacroGenerator, get_template

if TYPE_CHECKING:
    import jinja2


_MACRO = re.compile(r"{%-?\s*macro\s+(\w+)")


class _PackagedMacro(BaseMacroGenerator):
    """A macro of a file, compiled when it is first called."""

    def __init__(self, path: Path, name: str, context: dict[str, Any]) -> None:
        super().__init__(context)
        self._path = path
        self._name = name

    def get_name(self) -> str:
        return self._name

    def get_template(self) -> jinja2.Template:
        return self._template

    @functools.cached_property
    def _template(self) -> jinja2.Template:
        return get_template(self._path.read_text(), ctx={})


@functools.cache
def packaged_macros() -> Macros:
    """All macros of this package, in dbt's base context and with the adapter's methods that need no connection.

    There is no project, so no macro of a project takes the place of one of these.
    """
    from dbt.context.base import generate_base_context

    context: dict[str, Any] = {**generate_base_context({}), "adapter": LakemergeAdapter}
    for path in (Path(PACKAGE_PATH) / "macros").rglob("*.sql"):
        # the helpers of a file's macro too: dbt looks every macro up by its name, in one namespace
        for name in _MACRO.findall(path.read_text()):
            context[name] = _PackagedMacro(path, name, context).call_macro
    return Macros(context)
