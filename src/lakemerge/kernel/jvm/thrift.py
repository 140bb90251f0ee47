"""Rows of the metastore as Thrift writes them in JSON, and as the port has them.

Thrift's JSON names fields by number and says each one's type: ``{"1":{"str":"t"},"9":{"map":["str","str",…]}}``. Unlike
Thrift's readable form, it can be read back. So a row makes one trip each way, whatever is changed in it, and the fields
that the port does not know come back as they were. The numbers are those of Hive's ``hive_metastore.thrift``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lakemerge.kernel.ports.metastore import HiveColumn, HivePartition, HiveTable, Storage
from lakemerge.kernel.ports.names import TableName

_TABLE = {
    "name": "1",
    "schema": "2",
    "owner": "3",
    "created": "4",
    "storage": "7",
    "keys": "8",
    "parameters": "9",
    "original_text": "10",
    "expanded_text": "11",
    "kind": "12",
}
_STORAGE = {
    "columns": "1",
    "location": "2",
    "input": "3",
    "output": "4",
    "buckets": "6",
    "serde": "7",
    "bucket_columns": "8",
    "sort_columns": "9",
    "parameters": "10",
}
_SERDE = {"library": "2", "parameters": "3"}
_MANAGED, _EXTERNAL = "MANAGED_TABLE", "EXTERNAL_TABLE"
# Hive 4 makes external tables of those that are created as managed ones, without transactions: with these parameters,
# by which their files go when they are dropped. It moves the files of a table that it has made one when it is renamed,
# whatever the new row's location, unless the new row says that it is none.
_TRANSLATED = "TRANSLATED_TO_EXTERNAL"
_OF_TRANSLATED = {"EXTERNAL": "TRUE", "external.table.purge": "TRUE", _TRANSLATED: "TRUE"}
_NOT_MOVED = "FALSE"
# Members of LockType and LockLevel.
_EXCLUSIVE, _OF_TABLE = 3, 2
_PARTITION = {"values": "1", "schema": "2", "table": "3", "storage": "6", "parameters": "7"}


def table_of(body: Mapping[str, Any]) -> HiveTable:
    """The port's form of a Thrift ``Table``: a managed one for what Hive 4 has made an external one."""
    parameters = _texts(body, _TABLE["parameters"])
    is_translated = _TRANSLATED in parameters
    if is_translated:
        parameters = {key: value for key, value in parameters.items() if key not in _OF_TRANSLATED}
    return HiveTable(
        name=TableName(_text(body, _TABLE["schema"]), _text(body, _TABLE["name"])),
        kind=_MANAGED if is_translated else _text(body, _TABLE["kind"]),
        storage=_storage_of(_struct(body, _TABLE["storage"])),
        partition_columns=_columns(body, _TABLE["keys"]),
        parameters=parameters,
        owner=_text(body, _TABLE["owner"]),
        view_text=_text(body, _TABLE["expanded_text"]),
        created=body.get(_TABLE["created"], {}).get("i32", 0),
        rest=body,
    )


def partition_of(body: Mapping[str, Any]) -> HivePartition:
    """The port's form of a Thrift ``Partition``."""
    values = body.get(_PARTITION["values"], {}).get("lst", ("str", 0))
    return HivePartition(
        values=tuple(values[2:]),
        storage=_storage_of(_struct(body, _PARTITION["storage"])),
        parameters=_texts(body, _PARTITION["parameters"]),
        rest=body,
    )


def of_table(table: HiveTable) -> dict[str, Any]:
    """A Thrift ``Table``; for what the row does not say, the metastore's own default holds."""
    texts = {}
    if table.view_text != _text(table.rest, _TABLE["expanded_text"]):
        texts = {_TABLE[name]: {"str": table.view_text} for name in ("original_text", "expanded_text")}
    kind, parameters = table.kind, table.parameters
    was = _texts(table.rest, _TABLE["parameters"])
    if kind == _MANAGED and _TRANSLATED in was:
        is_renamed = table.name != TableName(
            _text(table.rest, _TABLE["schema"]), _text(table.rest, _TABLE["name"])
        )
        mark = _NOT_MOVED if is_renamed else was[_TRANSLATED]
        kind, parameters = _EXTERNAL, {**parameters, **_OF_TRANSLATED, _TRANSLATED: mark}
    return {
        **table.rest,
        **texts,
        _TABLE["name"]: {"str": table.name.name},
        _TABLE["schema"]: {"str": table.name.schema},
        _TABLE["owner"]: {"str": table.owner},
        _TABLE["kind"]: {"str": kind},
        _TABLE["storage"]: {"rec": _of_storage(table.storage)},
        _TABLE["keys"]: {"lst": _of_columns(table.partition_columns)},
        _TABLE["parameters"]: {"map": _of_texts(parameters)},
    }


def of_partition(name: TableName, partition: HivePartition) -> dict[str, Any]:
    """A Thrift ``Partition`` of a table."""
    return {
        **partition.rest,
        _PARTITION["values"]: {"lst": ["str", len(partition.values), *partition.values]},
        _PARTITION["schema"]: {"str": name.schema},
        _PARTITION["table"]: {"str": name.name},
        _PARTITION["storage"]: {"rec": _of_storage(partition.storage)},
        _PARTITION["parameters"]: {"map": _of_texts(partition.parameters)},
    }


def of_context(properties: Mapping[str, str]) -> dict[str, Any]:
    """A Thrift ``EnvironmentContext``."""
    return {"1": {"map": _of_texts(properties)}}


def of_exclusive_lock(name: TableName, user: str, host: str) -> dict[str, Any]:
    """A Thrift ``LockRequest`` for a whole table."""
    component = {
        "1": {"i32": _EXCLUSIVE},
        "2": {"i32": _OF_TABLE},
        "3": {"str": name.schema},
        "4": {"str": name.name},
    }
    return {"1": {"lst": ["rec", 1, component]}, "3": {"str": user}, "4": {"str": host}}


def _storage_of(body: Mapping[str, Any]) -> Storage:
    serde = _struct(body, _STORAGE["serde"])
    return Storage(
        columns=_columns(body, _STORAGE["columns"]),
        location=_text(body, _STORAGE["location"]),
        input_format=_text(body, _STORAGE["input"]),
        output_format=_text(body, _STORAGE["output"]),
        serde=_text(serde, _SERDE["library"]),
        serde_parameters=_texts(serde, _SERDE["parameters"]),
        buckets=body.get(_STORAGE["buckets"], {}).get("i32", -1),
        rest=body,
    )


def _of_storage(storage: Storage) -> dict[str, Any]:
    # the metastore's client stumbles over lists and maps that are absent
    empty = {
        _STORAGE["bucket_columns"]: {"lst": ["str", 0]},
        _STORAGE["sort_columns"]: {"lst": ["rec", 0]},
        _STORAGE["parameters"]: {"map": ["str", "str", 0, {}]},
    }
    serde = {
        **_struct(storage.rest, _STORAGE["serde"]),
        _SERDE["parameters"]: {"map": _of_texts(storage.serde_parameters)},
    }
    body = {
        **empty,
        **storage.rest,
        _STORAGE["columns"]: {"lst": _of_columns(storage.columns)},
        _STORAGE["buckets"]: {"i32": storage.buckets},
        _STORAGE["serde"]: {"rec": _with_texts(serde, {_SERDE["library"]: storage.serde})},
    }
    texts = {"location": storage.location, "input": storage.input_format, "output": storage.output_format}
    return _with_texts(body, {_STORAGE[name]: text for name, text in texts.items()})


def _with_texts(body: Mapping[str, Any], texts: Mapping[str, str]) -> dict[str, Any]:
    """A struct with texts in some fields. An empty one is left out: Hive would look for a class without a name."""
    others = {field: value for field, value in body.items() if field not in texts}
    return {**others, **{field: {"str": text} for field, text in texts.items() if text}}


def _columns(body: Mapping[str, Any], field: str) -> tuple[HiveColumn, ...]:
    columns = body.get(field, {}).get("lst", ("rec", 0))[2:]
    return tuple(HiveColumn(_text(one, "1"), _text(one, "2"), _text(one, "3")) for one in columns)


def _of_columns(columns: Sequence[HiveColumn]) -> list[Any]:
    return ["rec", len(columns), *(_of_column(column) for column in columns)]


def _of_column(column: HiveColumn) -> dict[str, Any]:
    body = {"1": {"str": column.name}, "2": {"str": column.type}}
    return {**body, "3": {"str": column.comment}} if column.comment else body


def _text(body: Mapping[str, Any], field: str) -> str:
    return str(body.get(field, {}).get("str", ""))


def _struct(body: Mapping[str, Any], field: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = body.get(field, {}).get("rec", {})
    return found


def _texts(body: Mapping[str, Any], field: str) -> dict[str, str]:
    entries = body.get(field, {}).get("map")
    return dict(entries[3]) if entries else {}


def _of_texts(texts: Mapping[str, str]) -> list[Any]:
    return ["str", "str", len(texts), dict(texts)]
