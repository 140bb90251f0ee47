"""Secrets of the profile and of the environment are in nothing that a command prints or leaves."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from dbt.adapters.lakemerge.cli.stream_command import stream
from dbt.tests.util import run_dbt_and_capture

from lakemerge.engine.spark import session

KEY, PASSWORD, URL_PASSWORD = "k3y-of-s3-planted", "passw0rd-planted", "url-passw0rd-planted"
OF_DBT = "dbts-own-planted"
SECRETS = (KEY, PASSWORD, URL_PASSWORD, OF_DBT)
GOOD = (
    "{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id') }} select 1 as id"
)
# the errors of services repeat what they were given
BAD = (
    "{{ config(materialized='table') }} select raise_error(concat('403 of jdbc:postgresql://hive:', "
    f"reverse('{PASSWORD[::-1]}'), '@db/x and ', reverse('{KEY[::-1]}'))) as id"
)
TOPIC = """
{{ config(materialized='ingest', format='json', kafka={
    'kafka.bootstrap.servers': 'localhost:1', 'subscribe': 'alerts', 'kafka.sasl.jaas.config': '${env:KAFKA_LOGIN}'
}) }}
"""


class TestSecrets:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        columns = "models: [{name: topic, columns: [{name: id, data_type: int}]}]"
        return {"good.sql": GOOD, "bad.sql": BAD, "topic.sql": TOPIC, "topic.yml": f"version: 2\n{columns}\n"}

    @pytest.fixture(scope="class")
    def writes_artifacts(self) -> bool:
        return True

    def test_no_secret_is_printed_or_left(
        self, project: Any, logs_dir: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any
    ) -> None:
        monkeypatch.setenv("DBT_ENV_SECRET_PLANTED", OF_DBT)
        profile = yaml.safe_load(Path(project.profiles_dir, "profiles.yml").read_text())
        (output,) = profile["test"]["outputs"].values()
        output["server_side_parameters"] |= {
            "spark.hadoop.fs.s3a.secret.key": KEY,
            "spark.hadoop.javax.jdo.option.ConnectionPassword": PASSWORD,
            "spark.hadoop.some.database": f"jdbc:mysql://hive:{URL_PASSWORD}@db/hive?password={URL_PASSWORD}",
            "spark.hadoop.fs.azure.account.key": "{{ env_var('DBT_ENV_SECRET_PLANTED') }}",
        }
        (tmp_path / "profiles.yml").write_text(yaml.safe_dump(profile))
        where = ["--profiles-dir", str(tmp_path)]
        said = [run_dbt_and_capture(["--debug", "debug", *where], expect_pass=None)[1]]  # type: ignore[arg-type]
        said += [
            run_dbt_and_capture(["--debug", "run", "--select", name, *where], expect_pass=name == "good")[1]
            for name in ("good", "bad", "topic")
        ]
        said += [
            run_dbt_and_capture(["run-operation", "lakemerge_history", "--args", "{table: good}", *where])[1]
        ]
        monkeypatch.setattr("dbt.adapters.lakemerge.cli.stream_command._TRIES", 1)
        streamed = CliRunner().invoke(
            stream, ["--select", "topic", "--project-dir", str(project.project_root), *where]
        )
        assert streamed.exit_code != 0
        said += [streamed.output, *capfd.readouterr()]
        assert any("403 of jdbc:postgresql://" in text for text in said), "the error itself is shown"
        left = [
            path
            for folder in (project.project_root, logs_dir)
            for path in Path(folder).rglob("*")
            if path.is_file()
        ]
        texts = [*said, *(path.read_bytes().decode("utf-8", "replace") for path in left)]
        assert len(left) > 10
        for secret in SECRETS:
            assert [text[:200] for text in texts if secret in text] == [], secret

    def test_javas_log_has_no_passwords_of_urls(self, project: Any) -> None:
        text = Path(session.__file__).with_name("log4j2.properties").read_text()
        (pattern,) = re.findall(r"^appender.console.layout.pattern = (.*)$", text, re.MULTILINE)
        with project.adapter.connection_named("log"):
            log4j = project.adapter.handle.application.jvm.java.org.apache.logging.log4j
        layout = (
            log4j.core.layout.PatternLayout.newBuilder().withPattern(pattern.replace("\\\\", "\\")).build()
        )
        message = log4j.message.SimpleMessage(
            f"no connection to jdbc:x://u:{PASSWORD}@db/x;Password={KEY};user=u"
        )
        event = log4j.core.impl.Log4jLogEvent.newBuilder().setMessage(message).setLevel(log4j.Level.ERROR)
        line = str(layout.toSerializable(event.setLoggerName("org.Pool").build()))
        assert line.endswith(" ERROR Pool: no connection to jdbc:x://*****@db/x;Password=*****;user=u\n")
