"""The SQL that runs stands in the debug log."""

from __future__ import annotations

import logging
from unittest.mock import MagicMock

import pytest

from lakemerge.engine.spark.own_sql import run_sql
from lakemerge.redaction import remember


@pytest.fixture(autouse=True)
def _shown(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logging.getLogger("lakemerge"), "propagate", True)
    caplog.set_level(logging.DEBUG, logger="lakemerge")


def session(work: str | None) -> MagicMock:
    spark = MagicMock()
    spark.sparkContext.getLocalProperty.return_value = work
    return spark


@pytest.mark.parametrize(("work", "named"), [("model.shop.orders", "model.shop.orders"), (None, "lakemerge")])
def test_a_statement_is_logged_with_what_it_is_for(
    caplog: pytest.LogCaptureFixture, work: str | None, named: str
) -> None:
    spark = session(work)
    assert run_sql(spark, "select 1") is spark.sql.return_value
    spark.sql.assert_called_once_with("select 1")
    assert caplog.messages == [f"On {named}:\nselect 1"]


def test_secrets_and_what_is_beyond_all_reading_are_left_out(caplog: pytest.LogCaptureFixture) -> None:
    remember({"spark.hadoop.fs.s3a.secret.key": "correct-horse-battery"})
    run_sql(session("m"), "select 'correct-horse-battery'" + " " * 300_000)
    assert "correct-horse" not in caplog.text
    assert caplog.messages[0].endswith("characters more")
    assert len(caplog.messages[0]) < 201_000


def test_nothing_is_asked_of_spark_where_nobody_reads_the_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="lakemerge")
    spark = session("m")
    run_sql(spark, "select 1")
    spark.sparkContext.getLocalProperty.assert_not_called()
