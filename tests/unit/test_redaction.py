"""Secrets never reach a text that people read."""

from __future__ import annotations

import pytest
from dbt.adapters.lakemerge.credentials import LakemergeCredentials
from dbt.adapters.lakemerge.dbt_errors import SparkStatementError
from hypothesis import given
from hypothesis import strategies as st

from lakemerge import redaction
from lakemerge.engine.ingest.ingest_options import IngestOptions
from lakemerge.engine.spark.configuration import Configuration
from lakemerge.errors import InvalidConfig, MetastoreError
from lakemerge.redaction import HIDDEN, redacted, remember

SECRET = "Xq7planted9"


@pytest.fixture(autouse=True)
def _nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redaction, "_known", set())


@pytest.mark.parametrize(
    "text",
    [
        f"jdbc:postgresql://host:5432/db?user=hive&password={SECRET}&ssl=true",
        f"jdbc:mysql://hive:{SECRET}@host/metastore",
        f"jdbc:mysql://hive:{SECRET}/a@b@host/metastore",
        f"jdbc:oracle:thin:hive/{SECRET}@//host:1521/x",
        f"jdbc:sqlserver://host:1433;databaseName=hive;user=hive;password={SECRET};encrypt=true",
        f"jdbc:derby:;databaseName=/w/_metastore_db;create=true;user=APP;password={SECRET}",
        f"thrift://hive:{SECRET}@host:9083",
        f"s3a://AKIA123:{SECRET}@bucket/warehouse",
        f"https://account.blob/x?sv=1&sig={SECRET}",
        f'org.apache.kafka.common.security.plain.PlainLoginModule required username="a" password="{SECRET}";',
        f'{{"kafka.sasl.jaas.config": "… password=\\"{SECRET}\\";"}}',
        f"spark.hadoop.fs.s3a.secret.key={SECRET}",
        f"{{'spark.hadoop.fs.s3a.secret.key': '{SECRET}'}}",
        f"spark.hadoop.javax.jdo.option.ConnectionPassword: {SECRET}",
    ],
)
def test_what_looks_like_a_secret_is_hidden(text: str) -> None:
    hidden = redacted(text)
    assert SECRET not in hidden
    assert HIDDEN in hidden
    error = MetastoreError(expected=f"a metastore at {text}", found=text, action=f"Look at {text}.")
    for shown in (
        str(error),
        error.expected,
        error.found,
        error.action,
        str(SparkStatementError(text, None)),
    ):
        assert SECRET not in shown


@pytest.mark.parametrize(
    "text",
    [
        "thrift://host:9083",
        "jdbc:derby:;databaseName=/w/_metastore_db;create=true",
        "file:///w/shop.db/orders/token=5/secret=a%3Db/part-0.orc",
        "s3a://bucket/a@b/c:d",
        "the column password: string, and payload.token: bigint",
        "select * from users where password = 'x' and token='y'",
        "[PARSE_SYNTAX_ERROR] Syntax error at or near 'secret'. SQLSTATE: 42601",
        "Write to me@example.com: https://example.com/docs",
    ],
)
def test_ordinary_texts_stay_as_they_are(text: str) -> None:
    assert redacted(text) == text


def test_the_secrets_of_settings_are_hidden_wherever_they_turn_up() -> None:
    settings = {
        "spark.hadoop.fs.s3a.secret.key": "one/secret+of=s3",
        "spark.hadoop.fs.s3a.access.key": "AKIA12345678",
        "spark.hadoop.javax.jdo.option.ConnectionPassword": "second secret",
        "spark.hadoop.javax.jdo.option.ConnectionURL": "jdbc:postgresql://hive:third-secret@db/hive",
        "spark.executor.memory": "ordinary-text",
        "spark.hadoop.some.password": "hive",
    }
    remember(settings)
    shown = redacted(" and ".join([*settings.values(), "org.apache.hadoop.hive", "third-secret"]))
    for secret in ("one/secret", "AKIA12345678", "second secret", "third-secret"):
        assert secret not in shown
    assert "ordinary-text" in shown
    assert "org.apache.hadoop.hive" in shown, "a short password is an ordinary word"


def test_a_profiles_secrets_are_known_from_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    profile = {"schema": "shop", "server_side_parameters": {"spark.hadoop.fs.s3a.secret.key": SECRET}}
    credentials = LakemergeCredentials.from_dict(profile)
    assert SECRET not in redacted(f"AccessDenied: signature of {SECRET}")
    shown = dict(credentials.connection_info())
    assert SECRET not in str(shown)
    assert "server_side_parameters" not in shown
    monkeypatch.setattr(redaction, "_known", set())
    Configuration.of(credentials)
    assert SECRET not in redacted(SECRET)


def test_dbts_secrets_are_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DBT_ENV_SECRET_TOKEN", SECRET)
    assert redacted(f"a {SECRET}") == f"a {HIDDEN}"


def test_kafkas_secrets_do_not_belong_into_a_models_config() -> None:
    kafka = {"kafka.bootstrap.servers": "a:9092", "subscribe": "alerts"}
    for name in ("kafka.sasl.jaas.config", "kafka.ssl.keystore.password", "kafka.ssl.keystore.key"):
        with pytest.raises(InvalidConfig, match="holds a secret, which dbt would write") as refused:
            IngestOptions.of({"kafka": {**kafka, name: f'Module required password="{SECRET}";'}})
        assert SECRET not in str(refused.value)
        IngestOptions.of({"kafka": {**kafka, name: "${env:KAFKA_SECRET}"}})


@given(st.text(), st.text(min_size=6))
def test_a_secret_is_hidden_in_any_text(text: str, secret: str) -> None:
    redaction._known = {secret}
    assert secret not in redacted(text + secret + text).replace(HIDDEN, "")


@pytest.mark.parametrize(
    ("setting", "value", "holds"),
    [
        ("spark.hadoop.fs.s3a.secret.key", "k", True),
        ("spark.hadoop.javax.jdo.option.ConnectionURL", "jdbc:postgresql://hive:pw@db/hive", True),
        ("spark.hadoop.javax.jdo.option.ConnectionURL", "jdbc:postgresql://db/hive", False),
        ("spark.hadoop.fs.s3a.secret.key", "", True),
        ("spark.driver.memory", "2g", False),
    ],
)
def test_settings_that_stay_off_command_lines(setting: str, value: str, holds: bool) -> None:
    assert redaction.holds_secret(setting, value) is holds
