"""What a capability of the adapter is made of: its own object, which macros reach as ``adapter.<name>``."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any, Generic, Protocol, TypeVar, overload

from dbt.adapters.lakemerge.constraints import enforced_checks
from dbt.adapters.lakemerge.cursor import ConnectionHandle
from dbt_common.invocation import get_invocation_id

from lakemerge.engine.options.write import WriteConfig
from lakemerge.engine.publish.node_transaction import Publish
from lakemerge.engine.publish.publisher import Publisher
from lakemerge.engine.relations.sized_text import declared_texts
from lakemerge.kernel import Kernel, ReadOnlyKernel, Settings, TableName, Transaction

#: Who asks and commits, in the history of tables.
AGENT = "dbt-lakemerge"

C = TypeVar("C", bound=WriteConfig)
T = TypeVar("T")


class Host(Protocol):
    """What capabilities need of the adapter.

    Attributes:
        retries: the invocations that the running command repeats; see :func:`retried_runs`.
    """

    config: Any
    connections: Any
    retries: tuple[str, ...]

    @property
    def handle(self) -> ConnectionHandle: ...

    def get_macro_resolver(self) -> Any: ...

    def submit_python_job(self, parsed_model: dict[Any, Any], compiled_code: str) -> Any: ...


class Capability:
    """Methods of one capability, for macros. The object has no state: a new one is made for each use.

    As with an adapter's own methods, dbt's decorators say what the methods return while dbt parses. What
    the engine raises in a public method is raised as dbt's error.
    """

    def __init__(self, host: Host) -> None:
        self.host = host

    @property
    def handle(self) -> ConnectionHandle:
        """The calling thread's connection, opened if it is not yet."""
        return self.host.handle

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for name, method in list(vars(cls).items()):
            if inspect.isfunction(method) and not name.startswith("_"):
                setattr(cls, name, _guarding(method))

    def guarded(self, doing: str) -> AbstractContextManager[Any]:
        """A frame in which the engine's errors become those that dbt shows, as around each public method."""
        guard: AbstractContextManager[Any] = self.host.connections.exception_handler(doing)
        return guard

    def kernel(
        self,
        model: Mapping[str, Any] | None = None,
        config: WriteConfig | None = None,
        *,
        dry_run: bool = False,
    ) -> Kernel:
        """The kernel that commits.

        Args:
            model: the node on whose behalf it commits; ``None`` for an operation.
            config: the node's options about writing.
            dry_run: whether it is to change nothing.
        """
        writer = {
            "agent": AGENT,
            "node": str((model or {}).get("unique_id", "")),
            "invocation_id": str(get_invocation_id()),
        }
        settings = Settings(writer=writer)
        if config:
            policy: Any = config.on_foreign_write
            settings = dataclasses.replace(settings, on_foreign_write=policy)
        return (ReadOnlyKernel if dry_run else Kernel)(self.handle.application.ports, settings)

    def publisher(
        self,
        name: TableName,
        config: C,
        model: Mapping[str, Any] | None = None,
        *,
        kernel: Kernel | None = None,
        commit: Publish = Transaction.commit,
    ) -> Publisher[C]:
        """What brings rows into a table.

        Args:
            model: the node whose rows they are; ``None`` for an operation.
            kernel: one that commits to other tables as well; ``None`` for a kernel of its own.
            commit: takes the complete transaction; see :class:`NodeTransaction`.
        """
        return Publisher(
            self.handle,
            kernel or self.kernel(model, config),
            name,
            config,
            constraints=enforced_checks(model or {}),
            declared=declared_texts(model or {}),
            records_rules=model is not None,
            commit=commit,
            retries=self.host.retries,
        )


def _guarding(method: Callable[..., T]) -> Callable[..., T]:
    @functools.wraps(method)  # with the marks of dbt's decorators
    def guarded(self: Capability, *args: Any, **kwargs: Any) -> T:
        with self.guarded(method.__qualname__):
            return method(self, *args, **kwargs)

    return guarded


K = TypeVar("K", bound=Capability)


class AtParse(Generic[K]):
    """Stands for a capability while dbt parses, and where there is no adapter: gives its methods' stand-ins."""

    def __init__(self, kind: type[K]) -> None:
        self._kind = kind

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._kind, name)
        return getattr(method, "_parse_replacement_", method)


class capability(Generic[K]):  # noqa: N801 - it is used as `property` is
    """An attribute of the adapter that gives a capability's object. It is marked like dbt's ``available`` methods, so
    that macros may use it."""

    _is_available_ = True

    def __init__(self, kind: type[K]) -> None:
        self.kind = kind
        self._parse_replacement_ = AtParse(kind)

    @overload
    def __get__(self, host: None, owner: type) -> AtParse[K]: ...

    @overload
    def __get__(self, host: Host, owner: type) -> K: ...

    def __get__(self, host: Host | None, owner: type) -> K | AtParse[K]:
        return self._parse_replacement_ if host is None else self.kind(host)
