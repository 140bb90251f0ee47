"""What people do with a table besides writing to it: look at its commits, and drop it."""

from __future__ import annotations

import itertools

from lakemerge.kernel.kernel import Kernel
from lakemerge.kernel.manifest import Manifest
from lakemerge.kernel.manifests import lineage
from lakemerge.kernel.names import TableName
from lakemerge.kernel.state import state_of


def history(kernel: Kernel, name: TableName, limit: int | None = None) -> list[Manifest]:
    """The table's commits, the newest first. Empty for a table that was never adopted.

    The list ends early where vacuum has removed older manifests.
    """
    state = kernel.current_state(name)
    if state is None:
        return []
    commits = lineage(kernel.files, state.layout, kernel.manifest(state))
    return list(itertools.islice(commits, limit))


def drop(kernel: Kernel, name: TableName, *, keep_files: bool = False) -> None:
    """Drop a table or view with all its versions; no error where there is none.

    The metastore's row goes first, so that no reader finds the table half there. A drop that died is finished
    by the next one, or by the next table of the name.

    Args:
        keep_files: leave the files, as Hive does for external tables.
    """
    kernel.finish_drop(name)
    if not kernel.exists(name):
        return
    table = kernel.table(name)
    state = state_of(table)  # and no look at its manifest: a table that is corrupt can be dropped
    external = table.kind == "EXTERNAL_TABLE"
    doomed = ""
    if state is not None:
        # an adopted external table's own files are somebody else's; what lakemerge made of it is not
        doomed = state.layout.control if external else state.layout.root
    elif not external:
        doomed = table.location
    if keep_files or table.kind == "VIRTUAL_VIEW" or not doomed:
        kernel.metastore.drop_table(name)
        kernel.roll_forward.side_tables.drop(name)
        return
    kernel.files.write_text(kernel.doom_of(name), doomed)
    kernel.metastore.drop_table(name)
    kernel.finish_drop(name)
