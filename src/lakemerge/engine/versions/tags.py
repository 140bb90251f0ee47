"""Names for versions: each keeps its version from vacuum, and may have a table by which other programs read it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from lakemerge.engine.merge_on_read.overlay_view import overlay_text
from lakemerge.engine.options.reader import OptionReader
from lakemerge.engine.versions.choice import Choice
from lakemerge.errors import InvalidConfig, shown
from lakemerge.kernel import (
    DELTAS,
    Kernel,
    Manifest,
    Reference,
    TableName,
    drop_tag_table,
    find_version,
    make_tag_table,
    reference_of,
)

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")
_OPERATION = "tag"


@dataclass(frozen=True)
class Tag:
    """A name for a version.

    Attributes:
        expires_at: ISO 8601 in UTC; from then on vacuum may delete the version. Empty: never.
        table: ``schema.table`` by which other programs read the version; empty where there is none.
    """

    name: str
    version: int
    expires_at: str
    table: str


def tag(
    kernel: Kernel, name: TableName, label: Any, choice: Choice, retain: Any = None, as_table: Any = False
) -> Tag:
    """Let a name stand for a version; see :meth:`lakemerge.tables.Table.tag` for the arguments.

    A name that already stands for this version gets the new time and the new table.

    Raises:
        InvalidConfig: an argument is wrong, or the name stands for another version.
        VersionNotFound, UnknownReference: there is no such version.
        UnsupportedTable: the name of the version's table is taken.
        VersionChanged: another program has changed files of the version.
    """
    label, kept_for, table = _arguments(name, label, retain, as_table)
    state, version = choice.find_with(kernel, name)
    name = state.name
    with kernel.begin(name, _OPERATION, data_change=False) as transaction:
        base = transaction.base
        assert base is not None, "it has versions"
        known = base.references.get(label)
        if known is not None and known.txn != version.txn:
            raise InvalidConfig(
                expected=f"{label} to name no other version of {name}",
                found=f"that it names {_described(kernel, name, label)}",
                action="Choose another name, or take this one away first (lakemerge_untag).",
            )
        _require_own(base, label, table)
        expires_at = "" if kept_for is None else (kernel.clock.now() + kept_for).isoformat(timespec="seconds")
        wanted = Reference(version.txn, expires_at, table)
        if known is not None and known.table and known.table != table:
            drop_tag_table(kernel, TableName(name.schema, known.table), state.table_id)
        if known != wanted:
            for other, one in base.references.items():
                if other != label and not one.table and not one.holds_at(kernel.clock.now()):
                    transaction.set_reference(other, None)  # it has expired
            transaction.set_reference(label, version.txn, expires_at=expires_at, table=table)
            transaction.properties = dict(base.properties)
            transaction.commit()
        else:
            transaction.abort()
    if table:
        _make_table(kernel, name, version, table)
    return Tag(label, version.version, expires_at, f"{name.schema}.{table}" if table else "")


def untag(kernel: Kernel, name: TableName, label: str) -> None:
    """Take a name away, and the table of its version; vacuum may delete the version then.

    Raises:
        UnknownReference: no version has this name.
    """
    state, newest = kernel.settled(name)
    reference = reference_of(state, newest, label)
    if reference.table:
        drop_tag_table(kernel, TableName(state.name.schema, reference.table), state.table_id)
    with kernel.begin(state.name, _OPERATION, data_change=False) as transaction:
        transaction.set_reference(label, None)
        transaction.properties = dict(transaction.base.properties) if transaction.base else {}
        transaction.commit()


def _arguments(name: TableName, label: Any, retain: Any, as_table: Any) -> tuple[str, timedelta | None, str]:
    problems: list[str] = []
    reader = OptionReader({"retain": retain}, problems)
    kept_for = None if retain is None else reader.duration("retain", timedelta())
    if not isinstance(label, str) or not _NAME.fullmatch(label):
        problems.append(
            f"tag must be a name of letters, digits, '_', '-' and '.', at most 100, not {shown(label)}"
        )
    if not isinstance(as_table, bool | str):
        problems.append(f"as_table must be true, false or a name, not {shown(as_table)}")
    table = as_table if isinstance(as_table, str) else ""
    if as_table is True:
        table = re.sub(r"\W", "_", f"{name.name}__{label}")
    if table and re.fullmatch(r"\w+", table) is None:
        problems.append(f"as_table must be a name without its schema, not {shown(table)}")
    if table and kept_for is not None:
        problems.append("retain and as_table exclude each other: a version that has a table is kept for good")
    reader.require_sound("valid arguments of a tag", "Correct them.")
    return str(label), kept_for, table.lower()


def _require_own(base: Manifest, label: str, table: str) -> None:
    """No two tags may have one table, for it goes with either of them. Raises InvalidConfig."""

    def names(of: str) -> set[str]:
        return {of, f"{of}__base", f"{of}__deltas"} if of else set()

    for other, one in base.references.items():
        if other != label and names(one.table) & names(table):
            raise InvalidConfig(
                expected=f"a name for the table of {label} that no other tag has",
                found=f"{table}; {other} has {one.table}",
                action="Give as_table another name.",
            )


def _described(kernel: Kernel, name: TableName, label: str) -> str:
    return f"version {find_version(kernel, name, tag=label)[1].version}"


def _make_table(kernel: Kernel, name: TableName, version: Manifest, table: str) -> None:
    text, overlay = "", version.overlay
    if overlay is not None and version.sidecars.get(DELTAS):
        columns = [column.name for column in (*version.columns, *version.partition_columns)]
        text = overlay_text(name.schema, table, columns, overlay.keys)
    make_tag_table(kernel, kernel.open(name), version, TableName(name.schema, table), text)
