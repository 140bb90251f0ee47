"""What a transaction has staged: its directories, and the names that they get as partitions.

A table of the append kind has a last partition column whose value is the version of the commit that added the
partition. That version is known only at the claim, so its rows are staged with a null there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lakemerge.kernel.ports.filesystem import FileSystem
from lakemerge.kernel.ports.names import DEFAULT_PARTITION, partition_name, unescape
from lakemerge.kernel.table.definition import same_keys
from lakemerge.kernel.table.manifest import Manifest, PartitionState


def staged_partitions(files: FileSystem, directory: str, columns: Sequence[str]) -> dict[str, str]:
    """The partitions below a stage directory: their directories' URIs by name.

    The columns' names are given, not read from the directories. A directory's name may differ from its column's: it
    must not begin with ``_`` or ``.``, because Hadoop would hide it from Hive.
    """
    level: list[tuple[str, list[str]]] = [(directory, [])]
    for _ in columns:
        level = [
            (entry.path, [*values, unescape(entry.name.partition("=")[2])])
            for (_, values), entries in zip(level, files.list_all([path for path, _ in level]), strict=True)
            for entry in entries
            if entry.is_directory and "=" in entry.name
        ]
    return {partition_name(columns, values): path for path, values in sorted(level)}


def partitions_of_version(
    staged: Mapping[str, PartitionState], commit_column: str, version: int
) -> dict[str, PartitionState]:
    """Staged partitions by the names that they get in a version: null in the commit column becomes the version."""
    if not commit_column:
        return dict(staged)
    mine = f"{commit_column}={DEFAULT_PARTITION}"
    return {
        f"{name.removesuffix(mine)}{commit_column}={version}" if name.endswith(mine) else name: state
        for name, state in staged.items()
    }


def only_adds(manifest: Manifest, parent: Manifest, commit_column: str) -> bool:
    """Whether a commit does nothing but add partitions that nobody else can have made: those of its version."""
    if not commit_column or manifest.removed or manifest.parent is None:
        return False
    same_columns = same_keys(manifest.columns, parent.columns)
    suffix = f"{commit_column}={manifest.version}"
    new = all(name.rpartition("/")[2] == suffix for name in manifest.written)
    return bool(manifest.written) and new and same_columns and manifest.file_format == parent.file_format
