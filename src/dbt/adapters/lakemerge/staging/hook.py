"""The hook at the end of a run, by which what is staged is published: there only where a project needs it."""

from __future__ import annotations

from typing import Any

_PACKAGE = "dbt_lakemerge"


def hide_unused_hook(manifest: Any) -> None:
    """Take the mark of a hook from the package's own where nothing of a project is published after tests.

    dbt counts hooks among the results of a run. The node itself stays: `dbt compile` has it in its queue by now. The
    project that is parsed and saved keeps the mark, so the hook is there when a model asks for it. Where it is not
    hidden, it does nothing.

    Args:
        manifest: dbt's, of the whole project; without nodes, nothing is done.
    """
    nodes = getattr(manifest, "nodes", None) or {}
    if any(_publishes_after_tests(node) for node in nodes.values()):
        return
    for node in filter(_is_ours, nodes.values()):
        node.tags = []


def _publishes_after_tests(node: Any) -> bool:
    config = getattr(node, "config", None)
    return config is not None and str(config.get("publish") or "").lower() == "after_tests"


def _is_ours(node: Any) -> bool:
    return str(node.resource_type) == "operation" and node.package_name == _PACKAGE
