"""The hook at the end of a run that publishes what is staged: the first hook there, and only where it is needed."""

from __future__ import annotations

from typing import Any

_PACKAGE = "dbt_lakemerge"
# dbt numbers a project's own hooks from 0
_FIRST = -1


def arrange_hook(manifest: Any, project: str) -> None:
    """Let the package's own hook be the first at the end of a run; without its tag where a project does not need it.

    dbt runs the project's hooks before those of packages. They would find nothing published, and if one of them failed,
    nothing would ever be published. So the package's hook is arranged as one of the project's.

    dbt counts hooks among the results of a run, so ours is hidden where nothing is published after tests. The node
    itself stays: `dbt compile` already has it in its queue. The project that is parsed and saved is not changed.

    Args:
        manifest: dbt's, of the whole project; without nodes, nothing is done.
        project: name of the project that is run.
    """
    nodes = getattr(manifest, "nodes", None) or {}
    is_needed = any(waits_for_tests(node) for node in nodes.values())
    for node in filter(is_ours, nodes.values()):
        node.tags = ["on-run-end"] if is_needed else []
        node.package_name, node.index = project, _FIRST


def waits_for_tests(node: Any) -> bool:
    """Whether the config of a dbt node says that it is published after tests."""
    config = getattr(node, "config", None)
    return config is not None and str(config.get("publish") or "").lower() == "after_tests"


def is_ours(node: Any) -> bool:
    """Whether a dbt node, if there is one, is the package's hook."""
    return node is not None and str(getattr(node, "unique_id", "")).startswith(f"operation.{_PACKAGE}.")
