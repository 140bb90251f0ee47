"""Merging the small files that writers leave, without Spark: stripes are copied as they are, not decoded."""

from __future__ import annotations

import logging

from lakemerge import compaction_thresholds
from lakemerge.compaction_thresholds import FILE_BYTES
from lakemerge.errors import LakemergeError
from lakemerge.kernel import (
    COMPACTION,
    Group,
    Kernel,
    Manifest,
    TableName,
    Transaction,
    escape,
    groups_to_merge,
    partition_values,
)
from lakemerge.table_rules import RULES, TableRules

_LOG = logging.getLogger("lakemerge")


def compact(kernel: Kernel, table: TableName) -> bool:
    """Merge small partitions of an ORC table of the append kind, where there are enough of them.

    What the table's model says holds here too: `compaction: off`, and `target_file_size`. A failure is logged and does
    no harm: the append is already committed.

    Returns:
        Whether some were merged.
    """
    try:
        state, manifest = kernel.settled(table)
        recorded = state.table.parameters.get(RULES)
        options = TableRules.of_text(recorded, table).options if recorded else {}
        if options.get("compaction") == "off":
            return False
        below = options.get("target_file_size", FILE_BYTES)
        if not _small(manifest, state.commit_column, below):
            return False
        with kernel.begin(table, COMPACTION, data_change=False) as transaction:
            return _compact(kernel, transaction, below)
    except LakemergeError as error:
        _LOG.info("%s: small partitions were not merged; a later commit tries again: %s", table, error)
        return False


def _small(manifest: Manifest, commit_column: str, below: int) -> list[Group]:
    return groups_to_merge(manifest, commit_column, after=compaction_thresholds.PARTITIONS, below=below)


def _compact(kernel: Kernel, transaction: Transaction, below: int) -> bool:
    base = transaction.base
    assert base is not None
    groups = _small(base, transaction.commit_column, below)
    members = {name for group in groups for name in group.members}
    if not members:
        return False
    transaction.read(members)
    if transaction.base is not base:
        return False  # another program has written; the next commit looks again
    transaction.move_in_units(group.unit for group in groups)
    for group in groups:
        _merge_files(kernel, transaction, group)
    written = set(transaction.add_staged())
    transaction.remove(members - written)
    transaction.properties = dict(base.properties)
    transaction.commit()
    return True


def _merge_files(kernel: Kernel, transaction: Transaction, group: Group) -> None:
    base = transaction.base
    assert base is not None
    paths = [
        entry.path
        for name in group.members
        for entry in kernel.files.snapshot(transaction.layout.absolute(base.partitions[name].location))[1]
    ]
    values = partition_values(group.target)
    folder = "/".join(f"p{number}={escape(value)}" for number, value in enumerate(values))

    def target() -> str:
        return f"{transaction.stage_directory}/{folder}/part-{kernel.host.token()}.orc"

    # files of another compression or schema are kept as they are
    for path in kernel.row_files.concatenate(paths, target()):
        kernel.files.copy(path, target())
