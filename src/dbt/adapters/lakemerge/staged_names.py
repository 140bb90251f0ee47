"""Views that stand for tables and views while a run has staged them and not yet published them.

Inside dbt's frame around a node, a relation is rendered as such a view, so that the node's query, its tests and later
nodes read what is staged. Outside these frames, such as in dbt's lines about results, names are unchanged.
"""

from __future__ import annotations

import itertools
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from dbt_common.invocation import get_invocation_id

from lakemerge.engine.sql_text import qualified, tokens
from lakemerge.errors import InvalidTransactionState
from lakemerge.kernel import TableName

#: The prefix of such views' names, unless they are named like their table; without Spark's database of global views.
PREFIX = "lakemerge_staged_"

_lock = threading.Lock()
# The views of each dbt invocation, by the tables that they stand for: one that was cut off has not cleared its views.
_views: dict[tuple[str, TableName], str] = {}
# The names as queries had them if nothing was staged, by the view.
_spelled: dict[str, str] = {}
# Views of staged rows that stand for no table, each with its invocation.
_shown: set[tuple[str, str]] = set()
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
        _views[_invocation(), name] = view


def show(view: str) -> None:
    """Note a view of staged rows that stands for no table."""
    with _lock:
        _shown.add((_invocation(), view))


def clear(invocation: str | None = None) -> None:
    """Let all names of an invocation, by default the current one, refer to the tables and views themselves again."""
    ended = invocation or _invocation()
    with _lock:
        for key in [key for key in _views if key[0] == ended]:
            del _views[key]
        _shown.difference_update([one for one in _shown if one[0] == ended])


def staged_view(name: TableName) -> str | None:
    """The view that stands for a table in this thread; ``None`` where none does."""
    return _views.get((_invocation(), name)) if getattr(_frame, "depth", 0) else None


def table_meant(parts: Sequence[str]) -> TableName | None:
    """The table for which the view of this name, given in parts, stands; ``None`` for any other name."""
    given, current = ".".join(parts).lower(), _invocation()
    with _lock:
        views = {
            view.replace("`", "").lower(): name for (run, name), view in _views.items() if run == current
        }
    return views.get(given)


def spelled_as(view: str, name: str) -> str:
    """The view, noting what the query would have named if nothing was staged."""
    _spelled[view] = name
    return view


def require_published(name: TableName, doing: str) -> None:
    """Refuse to change what readers see of a table while its next version is staged and not yet published.

    Args:
        doing: what is to be done.

    Raises:
        InvalidTransactionState: the table is staged. After the change its staged version would not be published,
            because the result is not what the tests saw.
    """
    if (_invocation(), name) in _views:
        raise InvalidTransactionState(
            expected=f"{name} not to be staged by this run, to {doing} it",
            found="a version that waits to be published after tests",
            action="Do it in the model's query, by a DELETE, UPDATE or MERGE INTO in its own post-hook, or in an "
            "on-run-end hook; or set publish: at_once on the model.",
        )


def names_staged(text: str, *, in_strings: bool = False) -> bool:
    """Whether a query reads what is staged.

    Args:
        in_strings: the text is no SQL, so that names stand in strings.
    """
    current = _invocation()
    with _lock:
        views = [view for (invocation, _), view in _views.items() if invocation == current]
        views += [view for invocation, view in _shown if invocation == current]
    code = text if in_strings else "".join(part if kind == "code" else " " for kind, part in tokens(text))
    return any(_place_of(view).search(code) for view in views)


def published_text(text: str) -> str:
    """A query in which the names of the tables themselves replace those of the views."""
    return _replaced(text, lambda name, _: qualified(name))


def runnable_text(text: str) -> str:
    """A query in which only what is read is named as it is staged: strings and comments name the tables themselves.

    Strings are data, such as the name of the table that a row comes from.
    """
    return _replaced(text, lambda _, view: view)


def _replaced(text: str, in_code: Callable[[TableName, str], str]) -> str:
    current = _invocation()
    with _lock:
        views = {view: name for (invocation, name), view in _views.items() if invocation == current}
    views = {view: name for view, name in views.items() if view in text}
    if not views:
        return text
    done = []
    for is_code, parts in itertools.groupby(tokens(text), lambda token: token[0] in ("code", "end")):
        part = "".join(one for _, one in parts)
        for view, name in views.items():
            new = in_code(name, view) if is_code else _spelled.get(view, str(name))
            part = _place_of(view).sub(lambda _, new=new: new, part)  # type: ignore[misc]
        done.append(part)
    return "".join(done)


def _place_of(view: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w`.]){re.escape(view)}(?![\w`])")


def _invocation() -> str:
    return str(get_invocation_id())
