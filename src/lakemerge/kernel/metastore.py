"""The Hive metastore as the kernel needs it: a typed face on ``HiveMetaStoreClient``.

Reads are repeated when the connection breaks, and so are the writes that may be done twice. Others are
not: a broken connection leaves their outcome unknown, which is told apart (:class:`ReplyLost`) so that the
caller looks before it decides.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import tenacity

from lakemerge.errors import MetastoreError
from lakemerge.kernel.jvm import JAVA_ERRORS, Jvm, java_exception
from lakemerge.kernel.names import TableName

T = TypeVar("T")

#: Hive's own switch against recomputing (and so listing files) when a table or partition is altered.
_KEEP_STATISTICS = ("DO_NOT_UPDATE_STATS", "true")
# A separator that no Hive identifier or escaped partition name can hold.
_SEPARATOR = "\x01"


class ReplyLost(MetastoreError):
    """A write was sent and no answer came: it may have succeeded."""

    retriable = True


class Refused(MetastoreError):
    """The metastore answered with an error: the write did not happen.

    Attributes:
        kind: the simple name of Hive's exception, such as ``NoSuchObjectException``.
    """

    def __init__(self, call: str, kind: str, text: str) -> None:
        self.kind = kind
        super().__init__(
            expected=f"the metastore to accept {call}",
            found=f"{kind}: {text}",
            action="Mend what the message names and run again.",
        )


class ValueChanged(Refused):
    """A compare-and-swap found another value than the expected one."""

    retriable = True


@dataclass(frozen=True)
class HiveColumn:
    """A column as the metastore keeps it: name in lower case, Hive type, comment (may be empty)."""

    name: str
    type: str
    comment: str = ""


@dataclass(frozen=True)
class HiveTable:
    """A table or view of the metastore.

    Attributes:
        kind: ``MANAGED_TABLE``, ``EXTERNAL_TABLE`` or ``VIRTUAL_VIEW``.
        columns: without the partition columns.
        location: URI; empty for a view.
        raw: the Java ``Table`` this was read from; treat it as read-only and ``deepCopy()`` it to alter.
    """

    name: TableName
    kind: str
    columns: tuple[HiveColumn, ...]
    partition_columns: tuple[HiveColumn, ...]
    location: str
    parameters: Mapping[str, str]
    owner: str
    input_format: str
    serde: str
    raw: Any = field(repr=False, compare=False)

    @property
    def partitioned(self) -> bool:
        return bool(self.partition_columns)


@dataclass(frozen=True)
class HivePartition:
    """A partition of a table.

    Attributes:
        values: unescaped, in the order of the partition columns.
        raw: the Java ``Partition`` this was read from; alter it and hand it to :meth:`Metastore.alter_partitions`.
    """

    values: tuple[str, ...]
    location: str
    columns: tuple[HiveColumn, ...]
    serde: str
    parameters: Mapping[str, str]
    _rows: Any = field(repr=False, compare=False)
    _index: int = field(repr=False, compare=False)

    @cached_property
    def raw(self) -> Any:
        return self._rows.get(self._index)  # one round trip, which most partitions never need


@dataclass(frozen=True)
class TableSummary:
    """A row of ``getTableMeta``: name, kind (``TableType``) and comment."""

    name: str
    kind: str
    comment: str


class Metastore:
    """A thread-safe client of one metastore; each thread gets a connection of its own.

    Attributes:
        compares: whether the metastore honours compare-and-swap; ``None`` until somebody has found out.
    """

    def __init__(self, jvm: Jvm) -> None:
        self.jvm = jvm
        self.compares: bool | None = None
        self._local = threading.local()

    # -- plumbing ------------------------------------------------------------------------------

    def _client(self) -> Any:
        if getattr(self._local, "pid", None) != os.getpid():
            java = self.jvm.java
            conf_class = java.java.lang.Class.forName("org.apache.hadoop.hive.conf.HiveConf")
            conf = java.org.apache.hadoop.hive.conf.HiveConf(self.jvm.hadoop_conf, conf_class)
            try:
                self._local.client = java.org.apache.hadoop.hive.metastore.HiveMetaStoreClient(conf)
            except JAVA_ERRORS as error:
                raise _unreachable(error, str(conf.get("hive.metastore.uris") or "embedded")) from error
            self._local.pid = os.getpid()
        return self._local.client

    def _drop_client(self) -> None:
        self._local.pid = None

    def _invoke(self, call: str, action: Callable[[Any], T]) -> T:
        """Run one call. Tests override this to lose replies and to fail calls."""
        try:
            return action(self._client())
        except JAVA_ERRORS as error:
            raise self._translate(call, error) from error

    def _read(self, call: str, action: Callable[[Any], T]) -> T:
        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(ReplyLost),
            stop=tenacity.stop_after_attempt(4),
            wait=tenacity.wait_random_exponential(multiplier=0.1, max=2),
            reraise=True,
        )
        result: T = retrying(self._invoke, call, action)
        return result

    def _translate(self, call: str, error: Exception) -> MetastoreError:
        kind, text = java_exception(error)
        if kind.startswith("TTransport") or kind in ("TApplicationException", "TProtocolException"):
            self._drop_client()
            return ReplyLost(
                expected=f"the metastore to answer {call}",
                found=f"{kind}: {text}",
                action="Check that the metastore is up; lakemerge looks at the table before it goes on.",
            )
        # HIVE-26882 has no exception class of its own for this
        if kind == "MetaException" and "has been modified" in text:
            return ValueChanged(call, kind, text)
        return Refused(call, kind, text)

    def _java_list(self, items: Iterable[Any]) -> Any:
        java_list = self.jvm.java.java.util.ArrayList()
        for item in items:
            java_list.add(item)
        return java_list

    def _strings(self, java_list: Any) -> list[str]:
        """A Java list of strings in one round trip instead of one each."""
        joined = str(self.jvm.java.java.lang.String.join(_SEPARATOR, java_list))
        return joined.split(_SEPARATOR) if joined or java_list.size() else []

    def _json(self, thrift_object: Any) -> Any:
        """A Thrift object as plain Python, in one round trip instead of one for each of its members."""
        thrift = self.jvm.java.org.apache.thrift
        factory = thrift.protocol.TSimpleJSONProtocol.Factory()
        return json.loads(str(thrift.TSerializer(factory).toString(thrift_object)))

    def _context(self, **properties: str) -> Any:
        context = self.jvm.api.EnvironmentContext()
        for key, value in (_KEEP_STATISTICS, *properties.items()):
            context.putToProperties(key, value)
        return context

    # -- tables --------------------------------------------------------------------------------

    def get_table(self, name: TableName) -> HiveTable | None:
        """The table or view, or ``None``."""
        try:
            raw = self._read("getTable", lambda client: client.getTable(name.schema, name.name))
        except Refused as error:
            if error.kind == "NoSuchObjectException":
                return None
            raise
        return _table(raw, self._json(raw))

    def tables(self, schema: str, names: Sequence[str]) -> list[HiveTable]:
        """The tables of these names that exist, in one call."""
        wanted = self._java_list(names)
        rows = self._read(
            "getTableObjectsByName", lambda client: client.getTableObjectsByName(schema, wanted)
        )
        return [_table(raw, self._json(raw)) for raw in _items(rows)]

    def table_summaries(self, schema: str) -> list[TableSummary]:
        """All tables and views of a schema, in one call; empty where there is no such schema."""
        rows = self._read(
            "getTableMeta", lambda client: client.getTableMeta(schema, "*", self._java_list(()))
        )
        return [
            TableSummary(str(row.getTableName()), str(row.getTableType()), str(row.getComments() or ""))
            for row in _items(rows)
        ]

    def function_names(self, schema: str) -> list[str]:
        """The functions of a schema; none where there is no such schema."""
        return [
            str(name) for name in _items(self._read("getFunctions", lambda c: c.getFunctions(schema, "*")))
        ]

    def database_location(self, schema: str) -> str:
        """The URI of a database's directory."""
        database = self._read("getDatabase", lambda client: client.getDatabase(schema.lower()))
        return str(database.getLocationUri())

    def create_table(self, raw: Any) -> None:
        """Create a table from a Java ``Table``. A lost reply raises :class:`ReplyLost`."""
        self._invoke("createTable", lambda client: client.createTable(raw))

    def alter_table(self, name: TableName, raw: Any, *, expected: tuple[str, str] | None = None) -> None:
        """Replace the table's row, if parameter ``expected[0]`` still has the value ``expected[1]``.

        Raises:
            ValueChanged: the parameter has another value; nothing was changed.
            ReplyLost: the outcome is unknown.
        """
        properties = {}
        if expected:
            properties = {
                "expected_parameter_key": expected[0],
                "expected_parameter_value": expected[1],
            }
        context = self._context(**properties)
        self._invoke(
            "alter_table",
            lambda client: client.alter_table_with_environmentContext(name.schema, name.name, raw, context),
        )

    def drop_table(self, name: TableName) -> None:
        """Remove the table's row and nothing of its files; no error where there is none."""
        self._read("dropTable", lambda client: client.dropTable(name.schema, name.name, False, True))

    # -- partitions ----------------------------------------------------------------------------

    def partition_names(self, name: TableName) -> list[str]:
        """The names of all partitions, escaped: ``d=1/c=a%2Fb``."""
        # a short through py4j has to be made by hand
        every = self.jvm.java.java.lang.Short.parseShort("-1")
        return self._strings(
            self._read(
                "listPartitionNames",
                lambda client: client.listPartitionNames(name.schema, name.name, every),
            )
        )

    def partitions(self, name: TableName, names: Sequence[str]) -> list[HivePartition]:
        """The partitions of these names, those that exist, in one call."""
        if not names:
            return []
        wanted = self._java_list(names)
        rows = self._read(
            "getPartitionsByNames",
            lambda client: client.getPartitionsByNames(name.schema, name.name, wanted),
        )
        # a Thrift object that holds a list of partitions, to have them all in one text
        together = self.jvm.api.PartitionsByExprResult(rows, False)
        bodies = self._json(together)["partitions"]
        return [_partition(rows, index, body) for index, body in enumerate(bodies)]

    def add_partitions(self, raws: Sequence[Any]) -> int:
        """Register partitions in one metastore transaction, skipping those that exist; returns how many were new."""
        if not raws:
            return 0
        rows = self._java_list(raws)
        added = self._invoke("add_partitions", lambda client: client.add_partitions(rows, True, True))
        return len(added)

    def alter_partitions(self, name: TableName, raws: Sequence[Any]) -> None:
        """Replace the rows of partitions in one metastore transaction: all or none."""
        if raws:
            rows = self._java_list(raws)
            context = self._context()
            self._invoke(
                "alter_partitions",
                lambda client: client.alter_partitions(name.schema, name.name, rows, context),
            )

    def drop_partition(self, name: TableName, values: Sequence[str]) -> None:
        """Remove a partition's row and nothing of its files; no error where there is none."""
        wanted = self._java_list(values)
        try:
            self._invoke(
                "dropPartition",
                lambda client: client.dropPartition(name.schema, name.name, wanted, False),
            )
        except Refused as error:
            if error.kind != "NoSuchObjectException":
                raise

    # -- column statistics ---------------------------------------------------------------------

    def delete_table_column_statistics(self, name: TableName) -> None:
        """Forget Hive's column statistics of an unpartitioned table."""
        self._forget(
            lambda client: client.deleteTableColumnStatistics(name.schema, name.name, None),
        )

    def delete_partition_column_statistics(
        self, name: TableName, partitions: Sequence[str], columns: Sequence[str]
    ) -> None:
        """Forget Hive's column statistics of these partitions, those that have any."""
        if not partitions or not columns:
            return
        names, wanted = self._java_list(partitions), self._java_list(columns)
        known = self._read(
            "getPartitionColumnStatistics",
            lambda client: client.getPartitionColumnStatistics(name.schema, name.name, names, wanted),
        )
        for partition in self._strings(known.keySet()):
            self._forget(_deletion(name, partition))

    def _forget(self, action: Callable[[Any], object]) -> None:
        try:
            self._read("deleteColumnStatistics", action)
        except Refused as error:
            if error.kind != "NoSuchObjectException":
                raise

    # -- locks, for metastores that do not compare -----------------------------------------------

    def lock(self, name: TableName, *, user: str, host: str) -> int:
        """Ask for an exclusive lock on a table; returns its id, acquired or waiting.

        Args:
            user: who asks; unique, so that a lock whose reply was lost can be found and given back.
        """
        api = self.jvm.api
        component = api.LockComponent(api.LockType.EXCLUSIVE, api.LockLevel.TABLE, name.schema)
        component.setTablename(name.name)
        request = api.LockRequest(self._java_list([component]), user, host)
        try:
            return int(self._invoke("lock", lambda client: client.lock(request)).getLockid())
        except ReplyLost:
            self._unlock_all(user)
            raise

    def _unlock_all(self, user: str) -> None:
        request = self.jvm.api.ShowLocksRequest()
        held = self._read("showLocks", lambda client: client.showLocks(request)).getLocks()
        for lock_id in {int(lock.getLockid()) for lock in held or () if str(lock.getUser()) == user}:
            self.unlock(lock_id)

    def lock_acquired(self, lock_id: int) -> bool:
        """Whether a lock is held by now."""
        response = self._read("checkLock", lambda client: client.checkLock(lock_id))
        return str(response.getState()) == "ACQUIRED"

    def unlock(self, lock_id: int) -> None:
        """Give a lock back."""
        self._read("unlock", lambda client: client.unlock(lock_id))

    # -- what this metastore can do ------------------------------------------------------------

    def probe_compare_and_swap(self, name: TableName) -> bool:
        """Whether ``alter_table`` honours an expected value, tried on an existing table.

        A metastore without HIVE-26882 ignores the expectation silently, so it is asked for what all of them
        refuse, another set of partition columns, while expecting what cannot be. One that compares finds fault
        with the expectation first; nothing is changed either way.

        Raises:
            Refused: for another reason, which tells nothing.
        """
        raw = self._read("getTable", lambda client: client.getTable(name.schema, name.name)).deepCopy()
        raw.addToPartitionKeys(self.jvm.api.FieldSchema("lakemerge_probe", "string", None))
        try:
            self.alter_table(name, raw, expected=("transient_lastDdlTime", "lakemerge-probe"))
        except ValueChanged:
            return True
        except Refused as error:
            if error.kind != "InvalidOperationException":
                raise
        return False


def _items(java_list: Any) -> list[Any]:
    """The members of a Java list. py4j's own iterator ends by an exception in Java, whose translation takes long."""
    return [java_list.get(index) for index in range(java_list.size())]


def _deletion(name: TableName, partition: str) -> Callable[[Any], object]:
    return lambda client: client.deletePartitionColumnStatistics(name.schema, name.name, partition, None)


def _unreachable(error: Exception, uris: str) -> MetastoreError:
    text = java_exception(error)[1].splitlines()[0]
    return MetastoreError(
        expected=f"a metastore at {uris}",
        found=text,
        action="Start it, or correct `metastore` in the profile (or hive.metastore.uris in hive-site.xml).",
    )


def _columns(fields: Sequence[Mapping[str, str]]) -> tuple[HiveColumn, ...]:
    return tuple(HiveColumn(column["name"], column["type"], column.get("comment") or "") for column in fields)


def _partition(rows: Any, index: int, body: Mapping[str, Any]) -> HivePartition:
    storage = body["sd"]
    return HivePartition(
        values=tuple(body["values"]),
        location=storage.get("location") or "",
        columns=_columns(storage.get("cols") or ()),
        serde=(storage.get("serdeInfo") or {}).get("serializationLib") or "",
        parameters=body.get("parameters") or {},
        _rows=rows,
        _index=index,
    )


def _table(raw: Any, body: Mapping[str, Any]) -> HiveTable:
    storage = body.get("sd") or {}
    return HiveTable(
        name=TableName(body["dbName"], body["tableName"]),
        kind=body.get("tableType") or "",
        columns=_columns(storage.get("cols") or ()),
        partition_columns=_columns(body.get("partitionKeys") or ()),
        location=storage.get("location") or "",
        parameters=body.get("parameters") or {},
        owner=body.get("owner") or "",
        input_format=storage.get("inputFormat") or "",
        serde=(storage.get("serdeInfo") or {}).get("serializationLib") or "",
        raw=raw,
    )
