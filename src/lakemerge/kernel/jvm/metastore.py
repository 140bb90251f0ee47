"""A Hive metastore through ``HiveMetaStoreClient``."""

from __future__ import annotations

import itertools
import json
import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from lakemerge.errors import MetastoreError
from lakemerge.kernel.jvm import thrift
from lakemerge.kernel.jvm.gateway import JAVA_ERRORS, Jvm, call_java, java_exception
from lakemerge.kernel.jvm.probing import Expectations, probe, until_answered
from lakemerge.kernel.ports.metastore import (
    HivePartition,
    HiveTable,
    Metastore,
    Refused,
    ReplyLost,
    TableSummary,
    ValueChanged,
)
from lakemerge.kernel.ports.names import TableName

T = TypeVar("T")

#: Hive's own switch against recomputing statistics (and so listing files) when a table or partition is altered.
_KEEP_STATISTICS = {"DO_NOT_UPDATE_STATS": "true"}
# A separator that no Hive identifier or escaped partition name can hold.
_SEPARATOR = "\x01"
# At most this many rows travel in one text: a row of many columns is long.
_ROWS_OF_TEXT = 500
# Thrift's client refuses an answer of more than 100 MiB, and a server a request. Rows are read in parts of about this
# many bytes as JSON, which is longer than what travels.
_BYTES_OF_ANSWER = 48 * 1024 * 1024
# A pattern that values of partition columns must match; nearly always empty.
_ALLOWED_VALUES = "hive.metastore.partition.name.whitelist.pattern"
# So many partitions are read first, to see how long they are; and so many statistics at once.
_FIRST_PARTITIONS = 100
_STATISTICS = 20_000
# Since Hive 4, statistics belong to the engine that made them.
_MAKERS = ("hive", "impala")


class HiveMetastore(Metastore):
    """The port :class:`~lakemerge.kernel.ports.metastore.Metastore`; each thread gets a connection of its own.

    Attributes:
        compares: whether the metastore honours compare-and-swap; ``None`` until somebody has found out.
    """

    def __init__(self, jvm: Jvm) -> None:
        self.jvm = jvm
        self.compares: bool | None = None
        self._sends_expectations = True
        self._restricts_values: bool | None = None
        self._local = threading.local()

    # -- plumbing ------------------------------------------------------------------------------

    def _client(self) -> Any:
        if getattr(self._local, "pid", None) != os.getpid():
            conf = self.jvm.hive_conf()
            try:
                self._local.client = self.jvm.hive.client(conf)
            except JAVA_ERRORS as error:
                raise _no_client(error, conf) from error
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
        return until_answered(lambda: self._invoke(call, action))

    def _translate(self, call: str, error: Exception) -> MetastoreError:
        kind, text = java_exception(error)
        if kind == "TApplicationException" and text.startswith("Invalid method name"):
            return MetastoreError(
                expected=f"a metastore of the release of Spark's client, which answers {call}",
                found=text,
                action="For Hive 4, set spark.sql.hive.metastore.version, spark.sql.hive.metastore.jars: path and "
                "spark.sql.hive.metastore.jars.path in the profile's server_side_parameters; they are read when Spark "
                "starts.",
            )
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

    def _java_names(self, names: Sequence[str]) -> Any:
        """A Java list of names, none of them empty, in one round trip instead of one each."""
        utilities = self.jvm.java.org.apache.hadoop.util.StringUtils
        return utilities.getStringCollection(_SEPARATOR.join(names), _SEPARATOR)

    def _strings(self, java_list: Any) -> list[str]:
        """A Java list of strings in one round trip instead of one each."""
        joined = str(self.jvm.java.java.lang.String.join(_SEPARATOR, java_list))
        return joined.split(_SEPARATOR) if joined or java_list.size() else []

    def _body(self, thrift_object: Any) -> Any:
        """A Thrift object in Thrift's JSON, in one round trip instead of one for each of its members."""
        return json.loads(self._text(thrift_object))

    def _text(self, thrift_object: Any) -> str:
        return str(self._json("TSerializer").toString(thrift_object))

    def _object(self, thrift_object: Any, body: Mapping[str, Any]) -> Any:
        """The inverse of :meth:`_body`: fills an empty Thrift object."""
        # Thrift accepts no blanks between the tokens, and no escapes except those of control characters
        text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
        self._json("TDeserializer").deserialize(thrift_object, text, "UTF-8")
        return thrift_object

    def _json(self, kind: str) -> Any:
        """Thrift's serializer or deserializer of JSON. Each thread has its own: they are not thread-safe."""
        if getattr(self._local, kind, (None, None))[0] != os.getpid():
            protocol = self.jvm.hive.new("org.apache.thrift.protocol.TJSONProtocol$Factory")
            made = self.jvm.hive.new(f"org.apache.thrift.{kind}", protocol)
            setattr(self._local, kind, (os.getpid(), made))
        return getattr(self._local, kind)[1]

    def _java_table(self, table: HiveTable) -> Any:
        return self._object(self.jvm.hive.row("Table"), thrift.of_table(table))

    def _java_partitions(self, name: TableName, partitions: Sequence[HivePartition]) -> Any:
        """A Java list of ``Partition``."""
        rows = self.jvm.java.java.util.ArrayList()
        for start in range(0, len(partitions), _ROWS_OF_TEXT):
            bodies = [
                thrift.of_partition(name, partition)
                for partition in partitions[start : start + _ROWS_OF_TEXT]
            ]
            # a Thrift object that holds a list of partitions, to have them all in one text
            together = {"1": {"lst": ["rec", len(bodies), *bodies]}, "2": {"tf": 0}}
            rows.addAll(self._object(self.jvm.hive.row("PartitionsByExprResult"), together).getPartitions())
        return rows

    def _context(self, **properties: str) -> Any:
        return self._object(
            self.jvm.hive.row("EnvironmentContext"), thrift.of_context({**_KEEP_STATISTICS, **properties})
        )

    # -- tables --------------------------------------------------------------------------------

    def get_table(self, name: TableName) -> HiveTable | None:
        try:
            raw = self._read("getTable", lambda client: call_java(client.getTable, name.schema, name.name))
        except Refused as error:
            if error.kind == "NoSuchObjectException":
                return None
            raise
        return thrift.table_of(self._body(raw))

    def tables(self, schema: str, names: Sequence[str]) -> list[HiveTable]:
        wanted = self._java_names(names)
        try:
            rows = self._read(
                "getTableObjectsByName", lambda client: client.getTableObjectsByName(schema, wanted)
            )
        except Refused as error:
            if error.kind == "UnknownDBException":
                return []  # where there is no schema, there are no tables
            raise
        return [thrift.table_of(self._body(raw)) for raw in _items(rows)]

    def table_summaries(self, schema: str, pattern: str = "*") -> list[TableSummary]:
        rows = self._read(
            "getTableMeta", lambda client: client.getTableMeta(schema, pattern, self._java_list(()))
        )
        return [
            TableSummary(str(row.getTableName()), str(row.getTableType()), str(row.getComments() or ""))
            for row in _items(rows)
        ]

    def function_names(self, schema: str) -> list[str]:
        return [
            str(name) for name in _items(self._read("getFunctions", lambda c: c.getFunctions(schema, "*")))
        ]

    def database_location(self, schema: str) -> str:
        database = self._read("getDatabase", lambda client: client.getDatabase(schema.lower()))
        return str(database.getLocationUri())

    def create_table(self, table: HiveTable) -> None:
        raw = self._java_table(table)
        self._invoke("createTable", lambda client: client.createTable(raw))

    def alter_table(
        self, name: TableName, table: HiveTable, *, expected: tuple[str, str] | None = None
    ) -> None:
        raw = self._java_table(table)
        properties = {}
        if expected and self._sends_expectations:
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
        self._read("dropTable", lambda client: client.dropTable(name.schema, name.name, False, True))

    # -- partitions ----------------------------------------------------------------------------

    def partition_names(self, name: TableName) -> list[str]:
        # a short through py4j has to be made by hand
        every = self.jvm.java.java.lang.Short.parseShort("-1")
        return self._strings(
            self._read(
                "listPartitionNames",
                lambda client: client.listPartitionNames(name.schema, name.name, every),
            )
        )

    def partitions(self, name: TableName, names: Sequence[str]) -> list[HivePartition]:
        found: list[HivePartition] = []
        start, count = 0, _FIRST_PARTITIONS
        while start < len(names):
            part = names[start : start + count]
            rows, size = self._partitions(name, part)
            found += rows
            start += len(part)
            count = max(1, _BYTES_OF_ANSWER * len(part) // max(size, 1))
        return found

    def _partitions(self, name: TableName, names: Sequence[str]) -> tuple[list[HivePartition], int]:
        """The partitions of these names by one call, and how many characters they take as JSON."""
        wanted = self._java_names(names)
        rows = self._read(
            "getPartitionsByNames",
            lambda client: client.getPartitionsByNames(name.schema, name.name, wanted),
        )
        found: list[HivePartition] = []
        size = 0
        for start in range(0, rows.size(), _ROWS_OF_TEXT):
            part = rows.subList(start, min(start + _ROWS_OF_TEXT, rows.size()))
            # a Thrift object that holds a list of partitions, to have them all in one text
            together = self.jvm.hive.row("PartitionsByExprResult")
            together.setPartitions(self.jvm.java.java.util.ArrayList(part))
            together.setHasUnknownPartitions(False)
            text = self._text(together)
            size += len(text)
            found += map(thrift.partition_of, json.loads(text)["1"]["lst"][2:])
        return found, size

    def add_partitions(self, name: TableName, partitions: Sequence[HivePartition]) -> int:
        if not partitions:
            return 0
        rows = self._java_partitions(name, partitions)
        return len(self._invoke("add_partitions", lambda client: client.add_partitions(rows, True, True)))

    def alter_partitions(self, name: TableName, partitions: Sequence[HivePartition]) -> None:
        if partitions:
            rows = self._java_partitions(name, partitions)
            context = self._context()
            self._invoke(
                "alter_partitions",
                lambda client: client.alter_partitions(name.schema, name.name, rows, context),
            )

    def drop_partition(self, name: TableName, values: Sequence[str]) -> None:
        wanted = self._java_list(values)
        try:
            self._invoke(
                "dropPartition",
                lambda client: client.dropPartition(name.schema, name.name, wanted, False),
            )
        except Refused as error:
            if error.kind != "NoSuchObjectException":
                raise

    def require_values(self, values: Sequence[str]) -> None:
        if self._restricts_values is None:
            self._restricts_values = bool(self._setting(_ALLOWED_VALUES))
        if self._restricts_values:
            wanted = self._java_list(values)
            self._read(
                "partition_name_has_valid_characters",
                lambda client: client.validatePartitionNameCharacters(wanted),
            )

    def _setting(self, name: str) -> str:
        """A setting of the metastore; empty if it does not tell."""
        try:
            return str(self._read("get_config_value", lambda client: client.getConfigValue(name, "")) or "")
        except Refused:
            return ""

    # -- column statistics ---------------------------------------------------------------------

    def delete_table_column_statistics(self, name: TableName) -> None:
        for of in self._makers():
            self._forget(_deletion_of_all(name, of))

    def delete_partition_column_statistics(
        self, name: TableName, partitions: Sequence[str], columns: Sequence[str]
    ) -> None:
        if not partitions or not columns:
            return
        wanted, count = self._java_names(columns), max(1, _STATISTICS // len(columns))
        for of, start in itertools.product(self._makers(), range(0, len(partitions), count)):
            names = self._java_names(partitions[start : start + count])
            known = self._read("getPartitionColumnStatistics", _statistics(name, names, wanted, of))
            for partition in self._strings(known.keySet()):
                self._forget(_deletion(name, partition, of))

    def _makers(self) -> list[tuple[str, ...]]:
        """What the calls say further of whose statistics they mean."""
        return [(maker,) for maker in _MAKERS] if self.jvm.hive.has_engines else [()]

    def _forget(self, action: Callable[[Any], object]) -> None:
        try:
            self._read("deleteColumnStatistics", action)
        except Refused as error:
            if error.kind != "NoSuchObjectException":
                raise

    # -- locks, for metastores that do not compare -----------------------------------------------

    def lock(self, name: TableName, *, user: str, host: str) -> int:
        request = self._object(self.jvm.hive.row("LockRequest"), thrift.of_exclusive_lock(name, user, host))
        try:
            return int(self._invoke("lock", lambda client: client.lock(request)).getLockid())
        except ReplyLost:
            self._unlock_all(user)
            raise

    def _unlock_all(self, user: str) -> None:
        request = self.jvm.hive.row("ShowLocksRequest")
        held = self._read("showLocks", lambda client: client.showLocks(request)).getLocks()
        for lock_id in {int(lock.getLockid()) for lock in held or () if str(lock.getUser()) == user}:
            self.unlock(lock_id)

    def lock_acquired(self, lock_id: int) -> bool:
        response = self._read("checkLock", lambda client: client.checkLock(lock_id))
        return str(response.getState()) == "ACQUIRED"

    def unlock(self, lock_id: int) -> None:
        self._read("unlock", lambda client: client.unlock(lock_id))

    # -- what this metastore can do ------------------------------------------------------------

    def probe_compare_and_swap(self, name: TableName) -> bool:
        """See the port. Where even the right value is refused, no expectation is sent from now on."""
        found = probe(self, name)
        self._sends_expectations = found is not Expectations.REFUSED
        return found is Expectations.HONOURED


def _items(java_list: Any) -> list[Any]:
    """The members of a Java list. py4j's own iterator ends by an exception in Java, whose translation takes long."""
    return [java_list.get(index) for index in range(java_list.size())]


def _statistics(name: TableName, partitions: Any, columns: Any, of: tuple[str, ...]) -> Callable[[Any], Any]:
    return lambda client: client.getPartitionColumnStatistics(
        name.schema, name.name, partitions, columns, *of
    )


def _deletion_of_all(name: TableName, of: tuple[str, ...]) -> Callable[[Any], object]:
    return lambda client: client.deleteTableColumnStatistics(name.schema, name.name, None, *of)


def _deletion(name: TableName, partition: str, of: tuple[str, ...]) -> Callable[[Any], object]:
    return lambda client: client.deletePartitionColumnStatistics(name.schema, name.name, partition, None, *of)


_LOG_IN = (
    "Log in with Kerberos: by `kinit`, or by `spark.kerberos.principal` and `spark.kerberos.keytab` in the profile. "
    "core-site.xml must say `hadoop.security.authentication: kerberos`, and HADOOP_CONF_DIR name its folder."
)


def _no_client(error: Exception, hive_conf: Any) -> MetastoreError:
    found = java_exception(error)[1].strip().partition("\n")[0]
    if uris := hive_conf.get("hive.metastore.uris"):
        action = "Start it, or correct `metastore` in the profile (or hive.metastore.uris in hive-site.xml)."
        return MetastoreError(
            expected=f"a metastore at {uris}", found=found, action=_LOG_IN if "GSS" in found else action
        )
    return MetastoreError(
        expected=f"an embedded metastore that opens at {hive_conf.get('javax.jdo.option.ConnectionURL')}",
        found=found,
        action="Look at that place, or set `metastore` in the profile (or javax.jdo.option.ConnectionURL in "
        "hive-site.xml) to another one.",
    )
