"""Runs that are repeated: rows that one of them has added already are not added again.

A node may have failed after its commit: because a hook after it failed, or because the metastore went silent and its
answer was lost. A merge may be repeated, an append may not.
"""

from __future__ import annotations

from collections.abc import Collection

from lakemerge.kernel import Kernel, Manifest, TableName, newest_commit

# The operations that put rows into a table to which the node's next run adds rows.
_OPERATIONS = ("append", "replace")
# Further back than a node of a failed run can be.
_MOST_COMMITS = 1000


def added_by(kernel: Kernel, name: TableName, invocations: Collection[str]) -> Manifest | None:
    """The newest commit by which one of these invocations has brought the rows of the kernel's node into a table."""
    node = kernel.settings.writer["node"]

    def is_that(commit: Manifest) -> bool:
        writer = commit.writer
        return (
            commit.operation in _OPERATIONS
            and writer.get("invocation_id") in invocations
            # what was published with others has no single node
            and writer.get("node") in (node, "")
        )

    return newest_commit(kernel, name, is_that, _MOST_COMMITS)
