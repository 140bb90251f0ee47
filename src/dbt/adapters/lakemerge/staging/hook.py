"""The hook at the end of a run, by which what is staged is published: the first one, and only where it is needed."""

from __future__ import annotations

from typing import Any

_PACKAGE = "dbt_lakemerge"
# dbt numbers a project's own hooks from 0
_FIRST = -1


def arrange_hook(manifest: Any, project: str) -> None:
    """Let the package's own hook be the first at the end of a run; without a mark where a project does not need it.

    dbt runs the project's hooks before those of packages. They would find nothing published, and if one failed, nothing
    ever would be. So ours is arranged as one of the project.

    dbt counts hooks among the results of a run, so it is hidden where nothing is published after tests. The node itself
    stays: `dbt compile` has it in its queue by now. The project that is parsed and saved is not changed.

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
    """Whether the config of a node of dbt's says that it is published after tests."""
    config = getattr(node, "config", None)
    return config is not None and str(config.get("publish") or "").lower() == "after_tests"


def is_ours(node: Any) -> bool:
    """Whether a node of dbt's, if there is one, is the package's hook."""
    return node is not None and str(getattr(node, "unique_id", "")).startswith(f"operation.{_PACKAGE}.")
