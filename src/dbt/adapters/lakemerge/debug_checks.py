"""The checks of ``dbt debug``, one line each."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

from dbt.adapters.lakemerge.credentials import LakemergeCredentials
from dbt_common.exceptions import DbtRuntimeError

from lakemerge.engine.spark.configuration import Configuration
from lakemerge.engine.spark.environment import removing_new_folders
from lakemerge.engine.spark.handle import SessionHandle
from lakemerge.errors import LakemergeError
from lakemerge.java import find_java
from lakemerge.kernel import TableName


def run_checks(
    credentials: LakemergeCredentials, connect: Callable[[], SessionHandle], say: Callable[[str], None]
) -> None:
    """Check Java, the session, the metastore and the warehouse, and print a line on each.

    Args:
        connect: opens the connection; called after Java was checked.
        say: prints a line; called once for each check.

    Raises:
        DbtRuntimeError: a check failed; the ones after it were skipped.
    """
    for name, check in _checks(credentials, connect):
        try:
            found = check()
        except (LakemergeError, DbtRuntimeError) as error:
            text = error.msg if isinstance(error, DbtRuntimeError) else str(error)
            say(f"  {name}: [ERROR] {text}")
            raise DbtRuntimeError(text) from error
        say(f"  {name}: [OK] {found}")


def _checks(
    credentials: LakemergeCredentials, connect: Callable[[], SessionHandle]
) -> Iterator[tuple[str, Callable[[], str]]]:
    yield "Java", _java
    yield "Spark session", lambda: _session(connect())
    yield "metastore", lambda: _metastore(credentials, connect())
    yield "compare-and-swap", lambda: _compare_and_swap(credentials, connect())
    yield "warehouse", lambda: _warehouse(credentials, connect())


def _java() -> str:
    java = find_java()
    return f"{java.version} at {java.home}"


def _session(handle: SessionHandle) -> str:
    handle.spark.sql("select 1 as id").collect()
    context = handle.spark.sparkContext
    return f"Spark {handle.spark.version} on {context.master}, application {context.applicationId}"


def _metastore(credentials: LakemergeCredentials, handle: SessionHandle) -> str:
    configuration = Configuration.of(credentials)
    tables = handle.application.metastore.table_summaries(credentials.schema.lower())
    if configuration.derby and not configuration.derby.exists():
        return f"{configuration.metastore}, which the first run makes"
    return f"{configuration.metastore}, {len(tables)} tables and views in schema {credentials.schema}"


def _compare_and_swap(credentials: LakemergeCredentials, handle: SessionHandle) -> str:
    """Probe with a table of our own, because the probe alters its table (to no effect)."""
    metastore = handle.application.metastore
    schema = credentials.schema.lower()
    existing = {name.lower() for name in (row[0] for row in handle.spark.sql("show databases").collect())}
    probe = TableName(schema if schema in existing else "default", f"lakemerge_probe_{uuid.uuid4().hex[:8]}")
    handle.spark.sql(f"create table {probe} (id int) stored as orc")
    try:
        supported = metastore.probe_compare_and_swap(probe)
    finally:
        handle.spark.sql(f"drop table if exists {probe} purge")
    return "supported" if supported else "not supported by this metastore: commits take its locks instead"


def _warehouse(credentials: LakemergeCredentials, handle: SessionHandle) -> str:
    location = handle.spark.conf.get("spark.sql.warehouse.dir")
    folder = _location_of_schema(credentials, handle) or str(location)
    path = handle.application.jvm.java.org.apache.hadoop.fs.Path(folder, f"_lakemerge_probe_{os.getpid()}")
    uri = path.toUri()
    local = Path(uri.getPath()).parent if uri.getScheme() in (None, "file") else None
    with removing_new_folders(local):
        handle.application.filesystem.write_text(str(path), "probe")
        handle.application.filesystem.delete(str(path))
    return f"{folder} can be written"


def _location_of_schema(credentials: LakemergeCredentials, handle: SessionHandle) -> str | None:
    rows = handle.spark.sql("show databases").collect()
    if credentials.schema.lower() not in {str(row[0]).lower() for row in rows}:
        return None
    return handle.application.metastore.database_location(credentials.schema)
