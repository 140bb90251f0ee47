"""What has to hold of a table after the death of a process that was committing to it."""

from __future__ import annotations

from kernel.commits import COMMITS, EVERY
from kernel.support import Picture, assert_nothing_orphaned, assert_whole, picture, settled
from lakemerge.kernel import Kernel, TableName

#: What readers see of a table before a commit and after it; ``None`` where there is no table.
Pictures = tuple["Picture | None", "Picture | None"]


def check_recovery(kernel: Kernel, name: TableName, pictures: Pictures, *, claimed: bool | None) -> None:
    """Recover, and check that the table is the old one or the new one, and clean.

    Args:
        claimed: whether the dead process had claimed its version, where that is known.
    """
    old, new = pictures
    if kernel.exists(name):
        kernel.recover(name)
    found = picture(kernel, name)
    allowed = (old, new) if claimed is None else ((new,) if claimed else (old,))
    assert found in allowed
    if found is None:
        # what a creation that died has left goes with the next table of that name
        COMMITS["create"].run(kernel, name)
        kernel.recover(name)
    state = kernel.open(name)
    assert_whole(kernel, name)
    assert_nothing_orphaned(kernel, name)
    version = settled(kernel, name).version
    following = (
        "delta"
        if kernel.settled(name)[1].overlay
        else "append"
        if state.commit_column
        else "swap"
        if state.table.partitioned
        else "swap-whole"
    )
    EVERY[following].run(kernel, name)
    assert settled(kernel, name).version == version + 1
