from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path

import pytest
from dbt import flags
from dbt.adapters.lakemerge.credentials import LakemergeCredentials

from lakemerge.engine.spark.configuration import Configuration, configures_logging, session_settings
from lakemerge.engine.spark.environment import check
from lakemerge.errors import InvalidConfig


@pytest.fixture(autouse=True)
def conf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty configuration folder, and a working directory without anything."""
    folder = tmp_path / "conf"
    folder.mkdir()
    monkeypatch.setenv("SPARK_CONF_DIR", str(folder))
    for name in ("HADOOP_CONF_DIR", "HIVE_CONF_DIR", "YARN_CONF_DIR", "SPARK_SUBMIT_OPTS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    # other tests of this process may have run dbt on a project of their own
    monkeypatch.setattr(flags, "GLOBAL_FLAGS", Namespace())
    return folder


def configuration(**fields: object) -> Configuration:
    return Configuration.of(LakemergeCredentials(schema="s", **fields))  # type: ignore[arg-type]


def hive_site(folder: Path, **properties: str) -> None:
    rows = "".join(
        f"<property><name>{name.replace('_', '.')}</name><value>{value}</value></property>"
        for name, value in properties.items()
    )
    (folder / "hive-site.xml").write_text(f"<configuration>{rows}</configuration>")


def test_without_fields_sparks_own_folders_are_those_of_the_project(tmp_path: Path) -> None:
    found = configuration()
    assert found.derby == tmp_path / "metastore_db"
    assert found.warehouse == tmp_path / "spark-warehouse"
    assert found.derby_log == tmp_path / "metastore_db.log"


def test_relative_paths_begin_at_the_project_wherever_dbt_is_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "my project"
    monkeypatch.setattr(flags, "GLOBAL_FLAGS", Namespace(PROJECT_DIR=str(project)))
    assert configuration().derby == project / "metastore_db"
    assert configuration().warehouse == project / "spark-warehouse"
    assert configuration(warehouse="w").warehouse == project / "w"
    assert configuration(metastore="embedded", warehouse="w").derby == project / "w" / "_metastore_db"


@pytest.mark.parametrize("where", ["spark-defaults.conf", "hive-site.xml", "the profile"])
def test_a_database_that_is_named_elsewhere_is_left_as_it_is(conf: Path, tmp_path: Path, where: str) -> None:
    url = f"jdbc:derby:;databaseName={tmp_path}/other;create=true"
    parameters = {}
    if where == "spark-defaults.conf":
        (conf / where).write_text(f"spark.hadoop.javax.jdo.option.ConnectionURL {url}\n")
    elif where == "hive-site.xml":
        hive_site(conf, javax_jdo_option_ConnectionURL=url)
    else:
        parameters["spark.hadoop.javax.jdo.option.ConnectionURL"] = url
    found = configuration(server_side_parameters=parameters)
    assert found.derby == tmp_path / "other"
    assert found.warehouse is None, "nor is there a warehouse that nobody asked for"
    assert found.application.get("spark.hadoop.javax.jdo.option.ConnectionURL", url) == url


@pytest.mark.parametrize("name", ["javax.jdo.option.ConnectionURL", "spark.javax.jdo.option.ConnectionURL"])
@pytest.mark.parametrize("where", ["spark-defaults.conf", "the profile"])
def test_a_database_under_a_name_that_spark_does_not_read_is_refused(
    conf: Path, tmp_path: Path, where: str, name: str
) -> None:
    url = f"jdbc:derby:;databaseName={tmp_path}/other;create=true"
    parameters = {}
    if where == "spark-defaults.conf":
        (conf / where).write_text(f"{name} {url}\n")
    else:
        parameters[name] = url
    with pytest.raises(InvalidConfig, match=r"spark\.hadoop\.javax\.jdo") as refusal:
        check(configuration(server_side_parameters=parameters))
    assert f"found {name}" in str(refusal.value)
    assert list(tmp_path.iterdir()) == [conf], "nothing was made"


@pytest.mark.parametrize("sign", [" ", "=", " = ", ":", " : "])
def test_a_line_of_spark_defaults_has_any_of_javas_separators(conf: Path, tmp_path: Path, sign: str) -> None:
    url = f"jdbc:derby:;databaseName={tmp_path}/other;create=true"
    (conf / "spark-defaults.conf").write_text(f"spark.hadoop.javax.jdo.option.ConnectionURL{sign}{url}\n")
    assert configuration().derby == tmp_path / "other"


def test_a_warehouse_of_hive_site_is_left_to_it(conf: Path) -> None:
    hive_site(conf, hive_metastore_warehouse_dir="/data/warehouse")
    assert configuration().warehouse is None
    assert "spark.sql.warehouse.dir" not in configuration().application


def test_a_rehearsal_has_its_metastore_in_memory(tmp_path: Path) -> None:
    found = configuration(metastore="embedded", warehouse="w").rehearsed()
    assert found.derby is None
    assert "memory" in found.application["spark.hadoop.javax.jdo.option.ConnectionURL"]
    assert found.derby_log == Path("/dev/null"), "else Derby logs into the working directory"
    assert found.warehouse == tmp_path / "w"


def test_the_embedded_metastore_lies_in_the_warehouse(tmp_path: Path) -> None:
    found = configuration(metastore="embedded", warehouse="w h")
    assert found.warehouse == tmp_path / "w h"
    assert found.derby == tmp_path / "w h" / "_metastore_db"
    assert found.application["spark.sql.warehouse.dir"] == f"file://{tmp_path}/w h", (
        "Hadoop does not decode it"
    )
    assert found.metastore_uris == ""


def test_the_embedded_metastore_holds_against_hive_site(conf: Path, tmp_path: Path) -> None:
    hive_site(conf, hive_metastore_uris="thrift://other:1")
    assert configuration().metastore_uris == "thrift://other:1"
    found = configuration(metastore="embedded", warehouse=str(tmp_path))
    assert found.metastore_uris == ""
    assert found.application["spark.hadoop.hive.metastore.uris"] == ""


def test_hives_own_configuration_folder_counts_where_sparks_has_no_hive_site(
    conf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HIVE_CONF_DIR", str(tmp_path))
    hive_site(tmp_path, hive_metastore_uris="thrift://hives:1")
    assert configuration().metastore_uris == "thrift://hives:1"
    hive_site(conf, hive_metastore_uris="thrift://sparks:1")
    assert configuration().metastore_uris == "thrift://sparks:1"


def test_spark_defaults_count_more_than_hive_site(conf: Path) -> None:
    hive_site(conf, hive_metastore_uris="thrift://other:1")
    (conf / "spark-defaults.conf").write_text(
        "# a comment\nspark.hadoop.hive.metastore.uris   thrift://mine:2\nspark.ui.enabled=true\n"
    )
    found = configuration()
    assert found.metastore_uris == "thrift://mine:2"
    assert "spark.ui.enabled" not in found.application


@pytest.mark.parametrize("prefix", ["spark.hadoop.", "spark."])
def test_the_metastore_by_any_of_its_names(prefix: str) -> None:
    parameters = {prefix + "hive.metastore.uris": "thrift://mine:2"}
    assert configuration(server_side_parameters=parameters).metastore_uris == "thrift://mine:2"


def test_the_profile_counts_most(conf: Path) -> None:
    (conf / "spark-defaults.conf").write_text("spark.hadoop.hive.metastore.uris thrift://mine:2\n")
    assert configuration(metastore="thrift://profile:3").metastore_uris == "thrift://profile:3"


@pytest.mark.parametrize(
    "url", ["jdbc:derby:memory:x;create=true", "jdbc:derby://host:1527/db", "jdbc:postgresql://h/db"]
)
def test_only_derby_in_a_folder_can_be_locked(url: str) -> None:
    parameters = {"spark.hadoop.javax.jdo.option.ConnectionURL": url}
    found = configuration(metastore="embedded", server_side_parameters=parameters)
    assert found.derby is None
    assert found.application["spark.hadoop.javax.jdo.option.ConnectionURL"] == url


def test_a_remote_warehouse_is_left_as_it_is() -> None:
    found = configuration(warehouse="hdfs://nn/warehouse")
    assert found.warehouse is None
    assert found.application["spark.sql.warehouse.dir"] == "hdfs://nn/warehouse"


def test_what_correctness_needs_cannot_be_configured_away() -> None:
    credentials = LakemergeCredentials(
        schema="s",
        server_side_parameters={
            "spark.sql.hive.convertMetastoreOrc": "false",
            "hive.exec.dynamic.partition.mode": "strict",
        },
    )
    settings = session_settings(credentials)
    assert settings["spark.sql.hive.convertMetastoreOrc"] == "true"
    assert settings["hive.exec.dynamic.partition.mode"] == "nonstrict"
    assert settings["spark.sql.ansi.enabled"] == "false"


def test_only_names_of_spark_go_to_spark_submit() -> None:
    found = configuration(server_side_parameters={"hive.exec.max.dynamic.partitions": "5"})
    assert all(name.startswith("spark.") for name in found.application)


def test_a_log_configuration_of_the_environment_is_seen(conf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not configures_logging()
    monkeypatch.setenv("SPARK_SUBMIT_OPTS", "-Dlog4j2.configurationFile=x")
    assert configures_logging()
    monkeypatch.delenv("SPARK_SUBMIT_OPTS")
    (conf / "log4j2.properties").touch()
    assert configures_logging()


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, sys.executable),
        ({"spark.master": "local[4]"}, sys.executable),
        ({"spark.master": "local[4]", "spark.pyspark.python": "/opt/python3"}, "/opt/python3"),
        ({"spark.master": "yarn"}, None),
        ({"spark.master": "yarn", "spark.pyspark.python": "/opt/python3"}, "/opt/python3"),
    ],
)
def test_the_python_of_python_models(settings: dict[str, str], expected: str | None) -> None:
    assert configuration(server_side_parameters=settings).python == expected


def test_the_master_may_stand_in_spark_defaults(conf: Path) -> None:
    (conf / "spark-defaults.conf").write_text("spark.master yarn\n")
    assert configuration().python is None
