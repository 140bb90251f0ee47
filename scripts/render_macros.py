"""Render macros to the SQL they make, without dbt, Spark or a metastore.

Each macro is called with sample arguments, made from the types that the yml beside it gives. What a
macro returns, and what it would run, is collected. Macros call each other, those of dbt and dbt-spark
included, as they do in dbt.
"""

from __future__ import annotations

import datetime
import inspect
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import shorten
from typing import Any, NoReturn

import dbt.include.global_project
import dbt.include.spark
import jinja2
import yaml
from dbt.adapters.lakemerge.column import LakemergeColumn
from dbt.adapters.lakemerge.relation import LakemergeRelation
from dbt_common.clients.jinja import get_environment
from dbt_common.exceptions.macros import MacroReturn

from lakemerge.engine.sql_text import quote
from sample_arguments import KINDS, OF_MACROS, Placeholder, relation, sample_values

MACRO_PREFIX = "dbt_macro__"
DISPATCH_PREFIXES = ("lakemerge__", "spark__", "default__", "")
# A macro that would run for ever with samples, or whose samples lead nowhere, says so in its yml:
# `config: {meta: {sql_lint: <the reason>}}`.
SKIP_KEY = "sql_lint"
_NO_SQL = {"lakemerge_snapshot_strategy": "asks the strategy that the configuration names, and makes no SQL"}
# What a template raises when it and its arguments do not go together.
RENDER_ERRORS = (jinja2.TemplateError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


class Refused(Exception):
    """The macro raised a compiler error, as a check of arguments does."""


@dataclass(frozen=True)
class Rendering:
    """What one call of a macro gave.

    Attributes:
        macro: the macro's name.
        path: the file it is in.
        sample: the arguments of the call, for messages.
        sql: texts, as returned or run; empty where the macro makes no SQL.
        stopped: why the rendering ended early, or None.
        exact: whether no answer of an engine had to be made up.
    """

    macro: str
    path: Path
    sample: str
    sql: tuple[str, ...]
    stopped: str | None
    exact: bool


class Adapter:
    """Answers what the real adapter answers without a session, and the rest with placeholders.

    Attributes:
        asked: the last method whose answer only a running engine knows, or None.
    """

    def __init__(self, dispatch: Callable[[str], Callable[..., Any]]) -> None:
        self._dispatch = dispatch
        self.asked: str | None = None

    def forget(self) -> None:
        """Begin another rendering."""
        self.asked = None

    def dispatch(self, macro_name: str, macro_namespace: str | None = None) -> Callable[..., Any]:
        return self._dispatch(macro_name)

    def quote(self, identifier: str) -> str:
        return quote(str(identifier))

    def get_columns_in_relation(self, relation: object) -> list[LakemergeColumn]:
        return [LakemergeColumn("sample_key", "bigint"), LakemergeColumn("sample_value", "string")]

    def __getattr__(self, name: str) -> Any:
        from dbt.adapters.lakemerge.impl import LakemergeAdapter

        if isinstance(inspect.getattr_static(LakemergeAdapter, name, None), (staticmethod, classmethod)):
            return getattr(LakemergeAdapter, name)
        self.asked = f"adapter.{name}"
        return Placeholder(name)


def _return(value: object) -> NoReturn:
    raise MacroReturn(value)


class Exceptions:
    """dbt's ``exceptions``, raising what the renderer knows."""

    def raise_compiler_error(self, message: str, node: object = None) -> NoReturn:
        raise Refused(str(message))

    def warn(self, message: str) -> str:
        return ""

    def __getattr__(self, name: str) -> Callable[..., NoReturn]:
        return self.raise_compiler_error


class Config:
    """The configuration of a model that sets what ``settings`` holds."""

    def __init__(self) -> None:
        self.settings: dict[str, Any] = {}

    def get(self, name: str, default: object = None, **_kwargs: object) -> object:
        return self.settings.get(name, default)

    def require(self, name: str, **_kwargs: object) -> object:
        return self.settings.get(name, Placeholder(name))

    def persist_relation_docs(self) -> bool:
        return True

    def persist_column_docs(self) -> bool:
        return True

    def __getattr__(self, name: str) -> Placeholder:
        return Placeholder(f"config_{name}")


@dataclass
class Macros:
    """All macros that dbt would know, ready to be called.

    Args:
        folder: our own, ``macros/``.
    """

    folder: Path
    _callable: dict[str, Callable[..., Any]] = field(default_factory=dict)
    _own: dict[str, tuple[Path, jinja2.runtime.Macro]] = field(default_factory=dict)
    _recorded: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._adapter = Adapter(self._dispatch)
        self._config = Config()
        context = self._context()
        for package in (dbt.include.global_project, dbt.include.spark):
            for path in sorted((Path(package.PACKAGE_PATH) / "macros").rglob("*.sql")):
                self._load(path, context, jinja2.Undefined)
        for path in sorted(self.folder.rglob("*.sql")):
            for name, macro in self._load(path, context, jinja2.StrictUndefined).items():
                self._own[name] = (path, macro)
        context.update(self._callable)
        # These two would call the engine; the renderer wants the text that they were given.
        context["statement"] = self._statement
        context["run_query"] = self._run_query

    @property
    def own(self) -> dict[str, Path]:
        """Our macros and their files, materializations and generic tests included."""
        return {name: path for name, (path, _macro) in self._own.items()}

    def signature(self, name: str) -> tuple[str, ...]:
        """The names of the arguments of one of our macros."""
        return tuple(self._own[name][1].arguments)

    def call(self, name: str, sample: Mapping[str, Any]) -> Any:
        """What one of our macros gives for a sample's arguments."""
        return self._callable[name](**sample)

    def described(self) -> dict[str, MacroDocumentation]:
        """What is known of each of our macros: of those that users call or override, their entries in the yml files."""
        entries = documentation(self.folder)
        return {
            name: entries.get(name) or MacroDocumentation.of_engine(name, self.signature(name))
            for name in self._own
        }

    def render(self, name: str, documentation: MacroDocumentation) -> Iterator[Rendering]:
        """Call one of our macros with each of its samples."""
        for settings in ({}, documentation.settings) if documentation.settings else ({},):
            self._config.settings = settings
            for sample in documentation.samples():
                yield self._render(name, sample)

    def _render(self, name: str, sample: dict[str, Any]) -> Rendering:
        self._recorded.clear()
        self._adapter.forget()
        result, stopped = None, None
        try:
            result = self._callable[name](**sample)
        except Refused as refused:
            stopped = f"refuses: {refused}"
        except RENDER_ERRORS as error:
            # Made-up answers fit only so far.
            if self._adapter.asked is None:
                raise
            stopped = f"{self._adapter.asked} needs an engine, then {type(error).__name__}: {error}"
        return Rendering(
            macro=name,
            path=self._own[name][0],
            sample=", ".join(f"{key}={shorten(str(value), 60)}" for key, value in sample.items()),
            sql=tuple(text for text in (*self._recorded, *_texts(result)) if text.strip()),
            stopped=stopped,
            exact=self._adapter.asked is None,
        )

    def _load(
        self, path: Path, context: dict[str, Any], undefined: type[jinja2.Undefined]
    ) -> dict[str, jinja2.runtime.Macro]:
        environment = get_environment(None)
        environment.undefined = undefined
        template = environment.from_string(path.read_text())
        module = template.make_module(vars=context, shared=False)
        found = {}
        for key, macro in vars(module).items():
            if key.startswith(MACRO_PREFIX):
                name = key.removeprefix(MACRO_PREFIX)
                found[name] = macro
                self._callable[name] = _returning(macro)
        return found

    def _dispatch(self, name: str) -> Callable[..., Any]:
        for prefix in DISPATCH_PREFIXES:
            if macro := self._callable.get(prefix + name):
                return macro
        raise Refused(f"no macro to dispatch {name} to")

    def _statement(self, *_args: object, caller: Callable[[], str], **_kwargs: object) -> str:
        self._recorded.append(caller())
        return ""

    def _run_query(self, sql: str) -> Placeholder:
        self._recorded.append(sql)
        return Placeholder("result")

    def _context(self) -> dict[str, Any]:
        sample = relation("this")
        return {
            "adapter": self._adapter,
            "api": _Api(),
            "builtins": Placeholder("builtins"),
            "config": self._config,
            "dbt_version": "1.12.0",
            "env_var": lambda name, default="": default,
            "exceptions": Exceptions(),
            "execute": True,
            "flags": Placeholder("flags"),
            "defer_relation": None,
            "fromjson": json.loads,
            "graph": Placeholder("graph"),
            "invocation_id": "sample",
            "load_agate_table": lambda: Placeholder("agate_table"),
            "load_result": lambda name: Placeholder(name),
            "local_md5": lambda text: "0" * 32,
            "log": lambda *args, **kwargs: "",
            "model": _Model(),
            "modules": _Modules(),
            "post_hooks": [],
            "pre_hooks": [],
            "print": lambda *args, **kwargs: "",
            "ref": lambda *names, **kwargs: relation(names[-1]),
            "return": _return,
            "run_started_at": datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc),
            "set": set,
            "source": lambda *names: relation(names[-1]),
            "sql": "select 1 as sample_key",
            "store_result": lambda *args, **kwargs: "",
            "target": _Target(),
            "this": sample,
            "tojson": json.dumps,
            "validation": _Validation(),
            "var": lambda name, default="": default,
            "zip": zip,
        }


class _Batch(Placeholder):
    event_time_start = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)
    event_time_end = datetime.datetime(2026, 1, 2, tzinfo=datetime.timezone.utc)


class _Model(Placeholder):
    batch = _Batch("model_batch")

    def __init__(self) -> None:
        super().__init__("model")


class _Target(Placeholder):
    schema = "sample_schema"

    def __init__(self) -> None:
        super().__init__("target")


class _Api:
    Relation = LakemergeRelation
    Column = LakemergeColumn


class _Validation:
    any = list


class _Modules:
    datetime = datetime
    re = re


def _returning(macro: jinja2.runtime.Macro) -> Callable[..., Any]:
    """A macro as dbt calls it: the result is what the macro gives to ``return``, otherwise its text."""

    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return macro(*args, **kwargs)
        except MacroReturn as returned:
            return returned.value

    return call


def _texts(result: object) -> Iterator[str]:
    """The texts in what a macro returned; relations, numbers and dictionaries are no SQL."""
    if isinstance(result, str):
        yield str(result)
    elif isinstance(result, (list, tuple)):
        for item in result:
            yield from _texts(item)


@dataclass(frozen=True)
class MacroDocumentation:
    """A macro's entry in a yml file, or what stands for one where only the engine calls the macro.

    Attributes:
        arguments: name and type of each, in order.
        samples_of: sample values that the yml gives itself (``config.meta.samples``), by argument.
        settings: a configuration of the model to render with (``config.meta.settings``), besides rendering without.
        skip: why the macro's SQL is not linted (``config.meta.sql_lint``), or None.
    """

    name: str
    description: str
    arguments: tuple[tuple[str, str], ...]
    descriptions: tuple[str, ...]
    samples_of: dict[str, list[Any]]
    settings: dict[str, Any]
    skip: str | None

    @classmethod
    def of_engine(cls, name: str, arguments: tuple[str, ...]) -> MacroDocumentation:
        """Of a macro without an entry: its arguments are known by their names."""
        kinds = tuple(
            (argument, KINDS.get(f"{name}.{argument}") or KINDS.get(argument, "any"))
            for argument in arguments
        )
        own = {one: OF_MACROS[f"{name}.{one}"] for one in arguments if f"{name}.{one}" in OF_MACROS}
        return cls(name, "", kinds, ("",) * len(kinds), own, {}, _NO_SQL.get(name))

    def samples(self) -> Iterator[dict[str, Any]]:
        """Arguments for some calls: first the first sample of each, then each other sample of a single argument."""
        values = {
            name: self.samples_of.get(name) or sample_values(name, kind) for name, kind in self.arguments
        }
        first = {name: choices[0] for name, choices in values.items()}
        yield first
        for name, choices in values.items():
            for other in choices[1:]:
                yield {**first, name: other}


def documentation(folder: Path) -> dict[str, MacroDocumentation]:
    """All entries of the yml files below ``folder``, by macro."""
    found = {}
    for path in sorted(folder.rglob("*.yml")):
        for entry in (yaml.safe_load(path.read_text()) or {}).get("macros", []):
            arguments = entry.get("arguments", [])
            meta = entry.get("config", {}).get("meta", {})
            found[entry["name"]] = MacroDocumentation(
                name=entry["name"],
                description=entry.get("description", ""),
                arguments=tuple((item["name"], item.get("type", "any")) for item in arguments),
                descriptions=tuple(item.get("description", "") for item in arguments),
                samples_of=meta.get("samples", {}),
                settings=meta.get("settings", {}),
                skip=meta.get(SKIP_KEY),
            )
    return found
