"""dbt's suites for ``dbt debug`` and ``dbt show``."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.tests.adapter.dbt_debug.test_dbt_debug import (
    BaseDebug,
    BaseDebugInvalidProjectPostgres,
    BaseDebugPostgres,
    BaseDebugProfileVariable,
)
from dbt.tests.adapter.dbt_show.test_dbt_show import (
    BaseShowDoesNotHandleDoubleLimit,
    BaseShowLimit,
    BaseShowSqlHeader,
)
from dbt.tests.util import run_dbt, run_dbt_and_capture

CHECKS = ("Java", "Spark session", "metastore", "compare-and-swap", "warehouse")


class TestDebug(BaseDebugPostgres):
    # a profile has neither user nor password
    test_nopass = None  # type: ignore[assignment]
    test_wronguser = None  # type: ignore[assignment]


class TestChecksOfDebug(BaseDebug):
    # apart, for a test of dbt's leaves the process with a folder of profiles that is none
    def test_every_check_is_printed(self, project: Any) -> None:
        _, output = run_dbt_and_capture(["debug"])
        assert "ERROR" not in output
        for check in CHECKS:
            assert f"{check}: [OK]" in output

    def test_unknown_metastore(self, project: Any, profiles_root: Any) -> None:
        path = profiles_root / "profiles.yml"
        profile = path.read_text("utf-8")
        path.write_text(profile.replace("metastore: embedded", "metastore: http://nowhere"), "utf-8")
        try:
            _, output = run_dbt_and_capture(["debug"], expect_pass=False)
        finally:
            path.write_text(profile, "utf-8")
        assert "Expected `metastore` to be embedded or thrift://host:port" in output
        assert "found 'http://nowhere'" in output


@pytest.mark.slow
class TestDebugProfileVariable(BaseDebugProfileVariable):
    def test_ok(self, project: Any) -> None:
        run_dbt(["debug"])
        assert "ERROR" not in self.capsys.readouterr().out  # type: ignore[attr-defined]


@pytest.mark.slow
class TestDebugInvalidProject(BaseDebugInvalidProjectPostgres):
    pass


@pytest.mark.slow
class TestShowLimit(BaseShowLimit):
    pass


class TestShowSqlHeader(BaseShowSqlHeader):
    pass


class TestShowDoesNotHandleDoubleLimit(BaseShowDoesNotHandleDoubleLimit):
    DATABASE_ERROR_MESSAGE = "PARSE_SYNTAX_ERROR"
