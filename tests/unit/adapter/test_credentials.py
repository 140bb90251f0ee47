from __future__ import annotations

from typing import Any

import pytest
from dbt.adapters.lakemerge.credentials import LakemergeCredentials
from dbt_common.exceptions import DbtRuntimeError

from lakemerge.engine.spark.configuration import thrift_addresses


def credentials(**fields: Any) -> LakemergeCredentials:
    data = {"schema": "s", **fields}
    LakemergeCredentials.validate(data)
    return LakemergeCredentials.from_dict(data)


def test_a_schema_is_enough() -> None:
    found = credentials()
    assert (found.type, found.method, found.metastore, found.warehouse) == (
        "lakemerge",
        "session",
        None,
        None,
    )
    assert found.database is None
    assert dict(found.connection_info())["schema"] == "s"


def test_ansi_is_off_whatever_the_profile_says() -> None:
    found = credentials(server_side_parameters={"spark.sql.ansi.enabled": True, "a.b": False, "n": 3})
    assert found.server_side_parameters == {"spark.sql.ansi.enabled": "false", "a.b": "false", "n": "3"}


@pytest.mark.parametrize(
    "metastore", ["embedded", "thrift://host:9083", "thrift://a:1,thrift://b:2", "thrift://[::1]:9083"]
)
def test_forms_of_the_metastore(metastore: str) -> None:
    assert credentials(metastore=metastore).metastore == metastore


@pytest.mark.parametrize(
    "metastore", ["Embedded", "host:9083", "thrift://host", "jdbc:derby:x", "", "thrift://a:1,b"]
)
def test_unknown_forms_of_the_metastore_are_refused(metastore: str) -> None:
    with pytest.raises(DbtRuntimeError, match="Expected `metastore` to be embedded or thrift://host:port"):
        credentials(metastore=metastore)


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"schema": ""}, "Expected `schema`"),
        ({"database": "other"}, "found other"),
        ({"method": "thrift"}, "Expected `method: session`"),
    ],
)
def test_what_cannot_be_is_refused_with_what_to_do(fields: dict[str, str], text: str) -> None:
    with pytest.raises(DbtRuntimeError, match=text):
        credentials(**fields)


def test_database_may_repeat_the_schema() -> None:
    assert credentials(database="s").database is None


def test_installations_differ_by_metastore_and_warehouse() -> None:
    fields = {credentials(metastore="embedded", warehouse=path).unique_field for path in ("/a", "/b")}
    assert len(fields) == 2


def test_addresses_of_uris() -> None:
    assert list(thrift_addresses("thrift://a:1, thrift://[::1]:2,nonsense")) == [("a", 1), ("::1", 2)]
