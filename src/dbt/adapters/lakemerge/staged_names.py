"""Views that stand for tables and views while a run has staged them and not yet published them.

Inside dbt's frame around a node, a relation is rendered as such a view, so that the node's query, its tests and later
nodes read what is staged. Outside these frames, such as in dbt's lines about results, names are unchanged.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from dbt_common.invocation import get_invocation_id

from lakemerge.errors import InvalidTransactionState
from lakemerge.kernel import TableName

#: The prefix of such views' names, unless they are named like their table; without Spark's database of global views.
PREFIX = "lakemerge_staged_"

_lock = threading.Lock()
# Each view with the dbt invocation that it belongs to: an invocation that was cut off has not cleared its views.
_views: dict[TableName, tuple[str, str]] = {}
_frame = threading.local()


@contextmanager
def reading_staged() -> Iterator[None]:
    """Render this thread's relations as their staged views inside the block."""
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
    """Let all names refer to the tables and views themselves again."""
    with _lock:
        _views.clear()


def staged_view(name: TableName) -> str | None:
    """The view that stands for a table in this thread; ``None`` where none does."""
    found = _views.get(name) if getattr(_frame, "depth", 0) else None
    return found[0] if found is not None and found[1] == str(get_invocation_id()) else None


def require_published(name: TableName, doing: str) -> None:
    """Refuse to change what readers see of a table while its next version is staged and not yet published.

    Args:
        doing: what is to be done.

    Raises:
        InvalidTransactionState: the table is staged. After the change its staged version would not be published,
            because the result is not what the tests saw.
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
    """A query in which the names of the tables themselves replace those of the views."""
    with _lock:
        views = dict(_views)
    for name, (view, _) in views.items():
        text = text.replace(view, f"`{name.schema}`.`{name.name}`")
    return text
