from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from dbt.adapters.lakemerge import debug_checks
from dbt.adapters.lakemerge.credentials import LakemergeCredentials
from dbt_common.exceptions import DbtRuntimeError

from lakemerge.errors import JavaNotFound, MetastoreUnreachable
from lakemerge.java import Java

CREDENTIALS = LakemergeCredentials(schema="s")


def unreachable() -> Any:
    error = MetastoreUnreachable(expected="a metastore", found="none", action="Start it.")
    raise DbtRuntimeError(str(error)) from error


def test_the_first_check_that_fails_is_the_last_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(debug_checks, "find_java", lambda: Java(Path("/jdk"), 17))
    lines: list[str] = []
    with pytest.raises(DbtRuntimeError, match="found none"):
        debug_checks.run_checks(CREDENTIALS, unreachable, lines.append)
    assert lines == [
        "  Java: [OK] 17 at /jdk",
        "  Spark session: [ERROR] Expected a metastore; found none. Start it.",
    ]


def test_without_java_nothing_is_connected_to(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_java() -> Java:
        raise JavaNotFound(expected="Java 17", found="none", action="Install it.")

    def connect() -> Any:
        raise AssertionError("connected although there is no Java")

    monkeypatch.setattr(debug_checks, "find_java", no_java)
    lines: list[str] = []
    with pytest.raises(DbtRuntimeError, match="Install it"):
        debug_checks.run_checks(CREDENTIALS, connect, lines.append)
    assert lines == ["  Java: [ERROR] Expected Java 17; found none. Install it."]
