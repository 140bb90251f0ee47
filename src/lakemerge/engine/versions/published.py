"""Tables by which views show versions: a query of such a view reads one version, whatever engine runs it."""

from __future__ import annotations

import re
from datetime import timedelta, timezone
from itertools import pairwise
from typing import Any

from lakemerge.engine.versions.choice import Choice
from lakemerge.engine.versions.tags import tag, untag
from lakemerge.kernel import DELTAS, Kernel, Manifest, TableName, find_version

#: How long a table stays after the next one was made, for queries that have begun.
GRACE = timedelta(days=1)
_TIME = "%Y%m%dT%H%M%S%f"


def table_for_view(kernel: Kernel, name: TableName, view: TableName, choice: Choice) -> TableName:
    """The table by which a view is to show a version: that of the version's tag, or one that is made for the view.

    Tables that were made for the view before go :data:`GRACE` after the next one was made.

    Args:
        name: of the table with versions.

    Raises:
        InvalidConfig, VersionNotFound, UnsupportedTable, VersionChanged: as :func:`tag`.
    """
    _, version = choice.find_with(kernel, name)
    newest = kernel.settled(name)[1]
    named = newest.references.get(choice.tag or "")
    if named is not None and named.table:
        return TableName(name.schema, named.table)
    made = _tags_of(view, newest)
    versions = {label: find_version(kernel, name, tag=label)[1] for label in made}
    label = next((one for one, known in versions.items() if _content(known) == _content(version)), "")
    version = versions.get(label, version)  # before it got this tag, which is a commit of its own
    now = kernel.clock.now().astimezone(timezone.utc)
    label = label or f"{view}.{now:{_TIME}}"
    found = tag(kernel, name, label, Choice(version=version.version), as_table=True)
    row = kernel.metastore.get_table(view)
    text = row.view_text if row else ""
    superseded = f"{view}.{now - GRACE:{_TIME}}"
    for earlier, later in pairwise(made):
        is_shown = newest.references[earlier].table in text
        if earlier != label and not is_shown and later < superseded:
            untag(kernel, name, earlier)
    return TableName(name.schema, found.table.rpartition(".")[2])


def _tags_of(view: TableName, newest: Manifest) -> list[str]:
    """The tags of versions whose tables were made for a view, in the order of their times, which end them."""
    pattern = re.compile(rf"{re.escape(str(view))}\.\d{{8}}T\d{{12}}")
    return sorted(label for label, one in newest.references.items() if one.table and pattern.fullmatch(label))


def _content(version: Manifest) -> tuple[Any, ...]:
    """What a version's table shows. A tag, too, is a commit that makes a version, with the same rows."""
    return version.partitions, version.columns, version.partition_columns, version.sidecars.get(DELTAS)
