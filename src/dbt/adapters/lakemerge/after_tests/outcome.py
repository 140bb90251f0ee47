"""Whether a run's results allow publishing what it has staged, and what dbt's results say about it afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set
from typing import Any

from dbt.adapters.lakemerge.responses import STAGED

# dbt's words for results that stop a publication: whatever did not come to a good end. Warnings do not.
_FAILED = ("fail", "error", "runtime error", "partial success")
_SKIPPED = "skipped"
# The texts of this many failures are shown.
_SHOWN = 5


def what_stops(results: Iterable[Any]) -> str:
    """Why a run must not publish, in words; empty if nothing speaks against it.

    Args:
        results: dbt's, of all nodes of the run.
    """
    bad: dict[str, list[Any]] = {"test": [], "other": [], _SKIPPED: []}
    for result in results:
        status = str(result.status)
        if status in _FAILED:
            bad["test" if _is_test(result) else "other"].append(result)
        elif status == _SKIPPED:
            bad[_SKIPPED].append(result)
    stops = [*bad["test"], *bad["other"]] or bad[_SKIPPED]
    texts = [_told(result) for result in stops[:_SHOWN]]
    if len(stops) > _SHOWN:
        texts.append(f"and {len(stops) - _SHOWN} more")
    return "; ".join(texts)


def mark_unpublished(
    results: Iterable[Any],
    nodes: Iterable[Any],
    unpublished: Set[str],
    reason: str,
    *,
    published: Set[str] = frozenset(),
    status: str = _SKIPPED,
) -> None:
    """Let dbt's results say that nodes were not published, so that `dbt retry` builds and tests them again.

    Tests that have passed saw rows that are gone by then, so these tests run again too, however many nodes lie between:
    otherwise a retry would publish what nobody has tested.

    Args:
        nodes: dbt's, of the project: a node that lies between another and its tests need not have a result.
        unpublished: the unique ids of the nodes.
        reason: why they were not published.
        published: unique ids of nodes that are published: the results of their own tests stand.
        status: what the nodes are now. Tests are skipped in any case.
    """
    results = list(results)
    reached = _reached([*nodes, *(result.node for result in results)], unpublished, published)
    for result in results:
        was = str(result.status)
        if result.node.unique_id in unpublished and was == "success":
            result.status = type(result.status)(status)
            result.message = f"Staged, and not published: {reason}"
        elif _is_test(result) and was in ("pass", "warn") and result.node.unique_id in reached:
            result.status = type(result.status)(_SKIPPED)
            result.message = None
            result.adapter_response = {"_message": f"{was}, on rows that were not published"}


def _reached(nodes: Iterable[Any], begin: Set[str], without: Set[str]) -> Set[str]:
    """The unique ids of some nodes and of all that read them, directly or by others, but not by way of ``without``."""
    readers: dict[str, set[str]] = {}
    for node in nodes:
        for read in _read_by(node):
            readers.setdefault(read, set()).add(node.unique_id)
    found, next_ones = set(begin), list(begin)
    while next_ones:
        new = readers.get(next_ones.pop(), set()) - found - without
        found |= new
        next_ones.extend(new)
    return found


def staged_by_another(staged: Set[str], results: Iterable[Any]) -> Set[str]:
    """The nodes that say that they are staged, and are not among those of the run."""
    waiting = {
        result.node.unique_id
        for result in results
        if isinstance(result.adapter_response, dict) and result.adapter_response.get("unpublished")
    }
    return waiting - staged


def mark_published(results: Iterable[Any], versions: Mapping[str, int], views: Set[str]) -> None:
    """Let dbt's results say what was made: no node's message says any longer that it is staged.

    Args:
        versions: of tables, by the node's unique id.
        views: the unique ids of the views.
    """
    for result in results:
        version = versions.get(result.node.unique_id)
        if isinstance(result.adapter_response, dict):
            result.adapter_response.pop("unpublished", None)
        if version is not None and isinstance(result.adapter_response, dict):
            result.adapter_response["version"] = version
            result.message = (result.message or "").replace(STAGED, f"version {version}")
        elif result.node.unique_id in views:
            result.message = (result.message or "").replace(f" ({STAGED})", "")


def _is_test(result: Any) -> bool:
    return str(result.node.resource_type) in ("test", "unit_test", "unit test")


def _read_by(node: Any) -> Set[str]:
    depends_on: Callable[[], Iterable[str]] | Iterable[str] = getattr(node, "depends_on_nodes", ())
    return frozenset(depends_on() if callable(depends_on) else depends_on)


def _told(result: Any) -> str:
    status = {"fail": "failed", "error": "ended in an error"}.get(str(result.status), f"is {result.status}")
    message = " ".join((result.message or "").split())
    shown = f"{message[:200]}…" if len(message) > 200 else message
    return f"{result.node.resource_type} {result.node.name} {status}" + (f" ({shown})" if shown else "")
