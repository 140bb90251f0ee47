"""Whether a run's results allow to publish what it has staged, and what dbt's results say of it afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set
from typing import Any

# dbt's words for results that stop a publication: whatever did not come to a good end. Warnings do not.
_FAILED = ("fail", "error", "runtime error", "partial success")
_SKIPPED = "skipped"
# Of so many failures the texts are shown.
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


def mark_unpublished(results: Iterable[Any], unique_ids: Set[str], reason: str) -> None:
    """Let dbt's results say that nodes were not published: skipped, so that `dbt retry` builds them again.

    Tests of them that have passed have seen rows that are gone by then, so these are made again too.

    Args:
        unique_ids: of the nodes that have staged something.
        reason: why it was not published.
    """
    for result in results:
        status = str(result.status)
        if result.node.unique_id in unique_ids and status == "success":
            result.status = type(result.status)(_SKIPPED)
            result.message = f"Staged, and not published: {reason}"
        elif _is_data_test(result) and status in ("pass", "warn") and _read_by(result) & unique_ids:
            result.status = type(result.status)(_SKIPPED)
            result.message = None
            result.adapter_response = {"_message": f"{status}, on rows that were not published"}


def mark_published(results: Iterable[Any], versions: Mapping[str, int]) -> None:
    """Let dbt's results name the versions that were made.

    Args:
        versions: by the node's unique id.
    """
    for result in results:
        version = versions.get(result.node.unique_id)
        if version is not None and isinstance(result.adapter_response, dict):
            result.adapter_response["version"] = version
            result.message = (result.message or "").replace("staged", f"version {version}")


def _is_test(result: Any) -> bool:
    return str(result.node.resource_type) in ("test", "unit_test", "unit test")


def _is_data_test(result: Any) -> bool:
    return str(result.node.resource_type) == "test"


def _read_by(result: Any) -> Set[str]:
    depends_on: Callable[[], Iterable[str]] | Iterable[str] = getattr(result.node, "depends_on_nodes", ())
    return frozenset(depends_on() if callable(depends_on) else depends_on)


def _told(result: Any) -> str:
    status = {"fail": "failed", "error": "ended in an error"}.get(str(result.status), f"is {result.status}")
    message = " ".join((result.message or "").split())
    shown = f"{message[:200]}…" if len(message) > 200 else message
    return f"{result.node.resource_type} {result.node.name} {status}" + (f" ({shown})" if shown else "")
