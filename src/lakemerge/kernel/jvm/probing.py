"""What a metastore does with the value that a write expects, found out by requests that change no table."""

from __future__ import annotations

import enum
import uuid
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import tenacity

from lakemerge.errors import MetastoreError
from lakemerge.kernel.ports.metastore import (
    DDL_TIME,
    HiveColumn,
    HiveTable,
    Metastore,
    Refused,
    ReplyLost,
    ValueChanged,
)
from lakemerge.kernel.ports.names import TableName

T = TypeVar("T")

_PROBES = 5


class Expectations(enum.Enum):
    """What becomes of a write that expects a value."""

    HONOURED = "it is refused where the table has another one"
    IGNORED = "it is carried out, whatever the table has"
    REFUSED = "it is refused, even where the table has it"


def probe(metastore: Metastore, name: TableName) -> Expectations:
    """Find it out on a table, which is left as it is.

    A metastore without HIVE-26882 ignores the expected value silently. So it is asked for a change that every metastore
    refuses, another set of partition columns, with an expected value that cannot be. A metastore that compares finds
    fault with the value first. It may yet be unable to write what has the right value, if its direct SQL is off or does
    not work with its database. So the same is sent with the right value: it must then find fault with the columns.

    Where a write cannot expect a value, a lock is tried, for commits will need it.

    Raises:
        MetastoreError: it honours no expectation, and its locks do not work.
        Refused: for another reason, which shows none of this.
    """
    found, fault = _found(metastore, name)
    if found is not Expectations.HONOURED:
        _require_locks(metastore, name, fault)
    return found


def _found(metastore: Metastore, name: TableName) -> tuple[Expectations, Refused]:
    for _ in range(_PROBES):
        table = metastore.get_table(name)
        if table is None:
            raise Refused("getTable", "NoSuchObjectException", f"there is no table {name}")
        fault = _fault(metastore, table, "lakemerge-probe")
        if fault.kind == "InvalidOperationException":
            return Expectations.IGNORED, fault
        if not isinstance(fault, ValueChanged):
            raise fault
        fault = _fault(metastore, table, table.parameters[DDL_TIME])
        if isinstance(fault, ValueChanged):
            continue  # somebody has just altered it
        if fault.kind == "InvalidOperationException":
            return Expectations.HONOURED, fault
        if fault.kind == "MetaException":
            return Expectations.REFUSED, fault
        raise fault
    raise fault


def _fault(metastore: Metastore, table: HiveTable, expected: str) -> Refused:
    """What a metastore finds wrong: that the table's time is another, or with other partition columns."""
    keys = (*table.partition_columns, HiveColumn("lakemerge_probe", "string"))
    changed = replace(table, partition_columns=keys, parameters={**table.parameters, DDL_TIME: "1"})
    try:
        until_answered(lambda: metastore.alter_table(table.name, changed, expected=(DDL_TIME, expected)))
    except Refused as fault:
        return fault
    raise MetastoreError(
        expected=f"the metastore to refuse other partition columns for {table.name}",
        found="that it took them",
        action="Build the table anew by dbt run --full-refresh, and report which metastore this is.",
    )


def _require_locks(metastore: Metastore, name: TableName, fault: Refused) -> None:
    def try_one() -> None:
        lock_id = metastore.lock(name, user=f"lakemerge-probe-{uuid.uuid4().hex[:12]}", host="probe")
        metastore.unlock(lock_id)

    try:
        until_answered(try_one)
    except (Refused, ReplyLost) as error:
        raise MetastoreError(
            expected="a metastore that writes what has an expected value, or whose locks work",
            found=f"neither ({fault.found}; {error.found}): hive.metastore.try.direct.sql is off, or fails with "
            "its database (with MariaDB's driver, javax.jdo.option.ConnectionURL needs useMysqlMetadata=true), or the "
            "tables for transactions are missing (schematool -initSchema makes them)",
            action="Correct the metastore's hive-site.xml, or its database, and run again.",
        ) from error


def until_answered(action: Callable[[], T]) -> T:
    """Make a call that changes nothing, again while it gets no answer. Raises ReplyLost after some tries."""
    retrying = tenacity.Retrying(
        retry=tenacity.retry_if_exception_type(ReplyLost),
        stop=tenacity.stop_after_attempt(4),
        wait=tenacity.wait_random_exponential(multiplier=0.1, max=2),
        reraise=True,
    )
    return retrying(action)
