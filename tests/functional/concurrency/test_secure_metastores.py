"""Runs on a metastore that lets in who has logged in with Kerberos, and on one that speaks TLS."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from engines import kerberos
from engines.installed import require
from engines.kerberos import REALM, Kerberos
from functional.concurrency.conftest import DbtCommands, DbtProject
from kernel.servers import MetastoreServer, write_settings
from lakemerge.java import ensure_java

pytestmark = pytest.mark.slow

MODEL = """
{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id', sequence_by='day') }}
select 1 as id, {{ var('day') }} as day
"""
_SASL = {
    "hive.metastore.sasl.enabled": "true",
    "hive.metastore.kerberos.principal": f"hive/localhost@{REALM}",
}
_TICKET_SECONDS = 40
_SECURE = {
    "hadoop.security.authentication": "kerberos",
    # By default 60: the ticket would be over before Hadoop looked for another.
    "hadoop.kerberos.min.seconds.before.relogin": "1",
}


@dataclass(frozen=True)
class Site:
    """A realm, and a metastore in it."""

    realm: Kerberos
    server: MetastoreServer
    keytab: Path

    def project(self, root: Path, *, keytab: bool) -> DbtProject:
        """A project with one merge.

        Args:
            keytab: whether its profile names one.
        """
        login = {"spark.kerberos.principal": f"etl@{REALM}", "spark.kerberos.keytab": str(self.keytab)}
        sasl = {f"spark.hadoop.{name}": value for name, value in _SASL.items()}
        root.mkdir()
        project = DbtProject(root, self.server, {**sasl, **(login if keytab else {})})
        project.write("models/merged.sql", MODEL)
        return project


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    require("kerberos", kerberos.missing())
    folder = tmp_path_factory.mktemp("site")
    realm = Kerberos().start()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAVA_TOOL_OPTIONS", f"-Djava.security.krb5.conf={realm.clients}")
        patch.setenv("KRB5CCNAME", str(folder / "no tickets"))
        # the server reads its own; clients do not read its hive-site.xml
        for name in ("conf", "clients"):
            (folder / name).mkdir()
            write_settings(folder / name / "core-site.xml", _SECURE)
        patch.setenv("HADOOP_CONF_DIR", str(folder / "clients"))
        keytab = realm.keytab("hive/localhost")
        settings = {**_SASL, "hive.metastore.kerberos.keytab.file": str(keytab)}
        server = MetastoreServer(folder, settings=settings, transaction_tables=False).start()
        yield Site(realm, server, realm.keytab("etl", _TICKET_SECONDS))
        server.stop()
    realm.stop()


def counts(dbt: DbtCommands, *arguments: str) -> dict[str, Any]:
    """What a command's one merge did."""
    answer = dbt(*arguments)
    assert answer["success"], answer
    done: dict[str, Any] = answer["response"]
    return done


def test_a_run_with_a_keytab_goes_on_after_its_ticket(site: Site, tmp_path: Path) -> None:
    with site.project(tmp_path / "by_keytab", keytab=True).commands() as dbt:
        assert counts(dbt, "run")["inserted"] == 1
        time.sleep(_TICKET_SECONDS + 5)
        # the next call logs in anew
        site.server.stop()
        site.server.start()
        assert counts(dbt, "run", "--vars", "day: 2")["updated"] == 1


def test_a_run_with_a_ticket(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = site.project(tmp_path / "by_ticket", keytab=False)
    for name, value in site.realm.log_in("etl", site.keytab).items():
        monkeypatch.setenv(name, value)
    assert "1 inserted" in project.run("run")


def test_a_run_without_a_login_says_how_to_log_in(site: Site, tmp_path: Path) -> None:
    run = site.project(tmp_path / "without", keytab=False).start("run")
    output = run.communicate(timeout=120)[0]
    assert run.returncode == 2
    assert "spark.kerberos.keytab" in output


def test_a_run_over_tls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HADOOP_CONF_DIR", raising=False)  # of the realm above
    stores = {name: tmp_path / f"{name}.jks" for name in ("keys", "trusted")}
    secret = ["-storepass", "of a test", "-alias", "metastore"]
    for command in (
        ["-genkeypair", "-keyalg", "RSA", "-dname", "CN=localhost", "-keystore", stores["keys"], *secret],
        ["-exportcert", "-keystore", stores["keys"], "-file", tmp_path / "certificate", *secret],
        [
            "-importcert",
            "-noprompt",
            "-keystore",
            stores["trusted"],
            "-file",
            tmp_path / "certificate",
            *secret,
        ],
    ):
        keytool = str(ensure_java() / "bin" / "keytool")
        subprocess.run([keytool, *map(str, command)], capture_output=True, timeout=60, check=True)
    settings = {
        "hive.metastore.use.SSL": "true",
        "hive.metastore.keystore.path": str(stores["keys"]),
        "hive.metastore.keystore.password": "of a test",
    }
    server = MetastoreServer(tmp_path / "server", settings=settings, transaction_tables=False).start()
    clients = {
        "hive.metastore.use.SSL": "true",
        "hive.metastore.truststore.path": str(stores["trusted"]),
        "hive.metastore.truststore.password": "of a test",
    }
    (root := tmp_path / "by_tls").mkdir()
    project = DbtProject(root, server, {f"spark.hadoop.{name}": value for name, value in clients.items()})
    project.write("models/merged.sql", MODEL)
    try:
        assert "1 inserted" in project.run("run")
    finally:
        server.stop()
