"""The macros of this package, rendered by Jinja alone: what programs without dbt have."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NoReturn

import jinja2
from jinja2 import nodes

from lakemerge import dbt_package, errors
from lakemerge.engine.relations.conditions import all_of
from lakemerge.engine.sql_text import literal, quote

_MACRO = re.compile(r"{%-?\s*macro\s+(\w+)")
# Macros are compiled under other names, so that one which calls another finds it in the globals, as with dbt: only
# there it is a call that may `return` a value.
_PREFIX = "macro_"


class PackagedMacros:
    """All macros of this package. There is no project, so none takes the place of another.

    They have of dbt's context what those that the engine calls need: ``adapter`` with its methods about text,
    ``modules.re`` and ``return``. The macros of snapshots need more: a snapshot is a node of dbt.

    Attributes:
        files: where each macro is.
    """

    def __init__(self) -> None:
        self._environment = jinja2.Environment(
            undefined=jinja2.StrictUndefined, extensions=["jinja2.ext.do"], autoescape=False
        )
        self._environment.globals.update({"adapter": _Texts, "modules": {"re": re}, "return": _return})
        self.files: dict[str, Path] = {}
        for path in sorted((dbt_package.PATH / "macros").rglob("*.sql")):
            self.files.update(dict.fromkeys(_MACRO.findall(path.read_text()), path))
        self._environment.globals.update({name: functools.partial(self._call, name) for name in self.files})

    def variable(self, name: str, default: Any) -> Any:
        """The default: there are no variables."""
        return default

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name not in self.files:
            raise AttributeError(f"lakemerge has no macro {name}")
        return functools.partial(self._call, name)

    def _call(self, name: str, *args: Any, **kwargs: Any) -> Any:
        macro = getattr(self._module(self.files[name]), _PREFIX + name)
        try:
            return macro(*args, **kwargs)
        except _Return as returned:
            return returned.value

    @functools.cache  # noqa: B019 - there is one object a process, see packaged_macros
    def _module(self, path: Path) -> Any:
        tree = self._environment.parse(path.read_text(), path.name, str(path))
        for macro in tree.find_all(nodes.Macro):
            macro.name = _PREFIX + macro.name.removeprefix(_PREFIX)  # two threads may have the same tree
        code = self._environment.compile(tree, path.name, str(path))
        return jinja2.Template.from_code(self._environment, code, self._environment.globals).module


@functools.cache
def packaged_macros() -> PackagedMacros:
    """The macros, read once a process and compiled when they are first called."""
    return PackagedMacros()


class _Texts:
    """What macros ask of ``adapter`` that is about text alone."""

    @staticmethod
    def quote(identifier: str) -> str:
        return quote(str(identifier))

    @staticmethod
    def string_literal(text: str) -> str:
        return literal(text)

    @staticmethod
    def all_of(conditions: Iterable[str]) -> str:
        return all_of(conditions)

    @staticmethod
    def raise_typed(kind: str, expected: str, found: str, action: str) -> NoReturn:
        raise getattr(errors, kind)(expected=expected, found=found, action=action)


class _Return(Exception):
    """Ends a macro with a value."""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


def _return(value: Any = None) -> NoReturn:
    raise _Return(value)
