"""A file system whose server is away for a while."""

from __future__ import annotations

from typing import Any

import pytest

from kernel.servers import free_port
from lakemerge.errors import StorageError
from lakemerge.kernel import Jvm
from lakemerge.kernel.jvm import files
from lakemerge.kernel.jvm.files import HadoopFileSystem


class _Again(Exception):
    pass


@pytest.mark.parametrize("call", ["exists", "delete"])
def test_a_call_that_reaches_no_server_is_made_again(
    jvm: Jvm, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    jvm.hadoop_conf.set(
        "ipc.client.connect.max.retries", "0"
    )  # HDFS's client makes a new connection ten times itself
    system = HadoopFileSystem(jvm)
    made: list[object] = []
    find = system._of

    def once(*where: Any) -> Any:
        if made:
            raise _Again
        made.append(where)
        return find(*where)

    monkeypatch.setattr(system, "_of", once)
    with pytest.raises(_Again):
        getattr(system, call)(f"hdfs://localhost:{free_port()}/x")


def test_at_last_it_is_an_error(jvm: Jvm, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_MOST_SECONDS", 0)
    jvm.hadoop_conf.set("ipc.client.connect.max.retries", "0")
    with pytest.raises(StorageError, match="Connection refused"):
        HadoopFileSystem(jvm).exists(f"hdfs://localhost:{free_port()}/x")
