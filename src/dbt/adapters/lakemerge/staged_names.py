"""Views that stand for tables and views while what a run has staged of them is not published.

A relation is rendered as such a view inside of dbt's frame around a node: its query, its tests and what follows it read
what is staged. Outside of these frames, such as in dbt's lines about results, names are what they always are.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from dbt_common.invocation import get_invocation_id

from lakemerge.errors import InvalidTransactionState
from lakemerge.kernel import TableName

#: How the names of such views begin that are not called like their table, without Spark's database of global views.
PREFIX = "lakemerge_staged_"

_lock = threading.Lock()
# Each with the invocation of dbt that it is of: one that was cut off has not cleared its own.
_views: dict[TableName, tuple[str, str]] = {}
_frame = threading.local()


@contextmanager
def reading_staged() -> Iterator[None]:
    """Let this thread's relations be rendered as what is staged of them."""
    _frame.depth = getattr(_frame, "depth", 0) + 1
    try:
        yield
    finally:
        _frame.depth -= 1


def stand_in(name: TableName, view: str) -> None:
    """Let a view stand for a table from now on."""
    with _lock:
        _views[name] = (view, str(get_invocation_id()))


def clear() -> None:
    """Let all names be their own again."""
    with _lock:
        _views.clear()


def staged_view(name: TableName) -> str | None:
    """The view that stands for a table in this thread; ``None`` where none does."""
    found = _views.get(name) if getattr(_frame, "depth", 0) else None
    return found[0] if found is not None and found[1] == str(get_invocation_id()) else None


def require_published(name: TableName, doing: str) -> None:
    """Refuse to change what readers see of a table while its next version waits.

    Args:
        doing: what is to be done.

    Raises:
        InvalidTransactionState: it is staged. The version would not be published: it is not what the tests saw.
    """
    with _lock:
        found = _views.get(name)
    if found is not None and found[1] == str(get_invocation_id()):
        raise InvalidTransactionState(
            expected=f"{name} not to be staged by this run, to {doing} it",
            found="a version that waits to be published after tests",
            action="Do it in the model's query or in an on-run-end hook, or set publish: at_once on the model.",
        )


def names_staged(text: str) -> bool:
    """Whether a query reads what is staged."""
    with _lock:
        views = [view for view, invocation in _views.values() if invocation == str(get_invocation_id())]
    return PREFIX in text or any(view in text for view in views)


def published_text(text: str) -> str:
    """A query with the names of the tables themselves in the place of the views'."""
    with _lock:
        views = dict(_views)
    for name, (view, _) in views.items():
        text = text.replace(view, f"`{name.schema}`.`{name.name}`")
    return text
