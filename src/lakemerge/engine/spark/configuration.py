"""The settings that Spark starts with, worked out before it does: profile, spark-defaults.conf, hive-site.xml."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import unquote, urlparse
from xml.etree import ElementTree

from lakemerge.kernel import HDFS_CLIENT
from lakemerge.redaction import remember

#: A Derby database in the warehouse, for one process at a time.
EMBEDDED = "embedded"
_THRIFT_URI = re.compile(r"thrift://(?P<host>\[[^\]]+\]|[^:/,\s]+):(?P<port>\d+)")

_HIVE_URIS = "hive.metastore.uris"
_JDO_URL = "javax.jdo.option.ConnectionURL"
_JDO_DRIVER = "javax.jdo.option.ConnectionDriverName"
_WAREHOUSE = "spark.sql.warehouse.dir"
_HIVE_WAREHOUSE = "hive.metastore.warehouse.dir"
_HADOOP = "spark.hadoop."

#: Set for every session. Without them commits or reads go wrong, so no configuration may change them.
REQUIRED_OF_SESSIONS: Mapping[str, str] = {
    # otherwise a partitioned CREATE TABLE … STORED AS ORC AS SELECT fails, and so does each dynamic insert
    "hive.exec.dynamic.partition": "true",
    "hive.exec.dynamic.partition.mode": "nonstrict",
    # Spark's own readers and writers: Hive's have other types, and list files again per partition
    "spark.sql.orc.impl": "native",
    "spark.sql.hive.convertMetastoreOrc": "true",
    "spark.sql.hive.convertMetastoreParquet": "true",
    # by default Spark saves an inferred schema in the metastore at the first read of a table that
    # Hive made, and so overwrites the row of a table that is being committed
    "spark.sql.hive.caseSensitiveInferenceMode": "NEVER_INFER",
    "spark.sql.hive.metastorePartitionPruning": "true",
    "spark.sql.hive.metastorePartitionPruningFallbackOnException": "true",
    # by algorithm 2, a task that dies while it commits leaves files beside those of its successor
    "mapreduce.fileoutputcommitter.algorithm.version": "1",
}

# Set for the application. A metastore that Hive's client starts in this JVM lacks the disruptor jar for async logging.
_REQUIRED_OF_APPLICATION: Mapping[str, str] = {_HADOOP + "hive.async.log.enabled": "false"}

# Set for the application where nothing else sets them.
_DEFAULTS: Mapping[str, str] = {
    "spark.app.name": "dbt-lakemerge",
    # Spark's own default, 1 GB, is what one query of 2,000 columns needs, and models are built several at a time
    "spark.driver.memory": "2g",
    # nobody uses its port and its threads while dbt runs
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # Spark keeps the texts of the last thousand plans for its UI, which is off; for wide tables, each is megabytes long
    "spark.sql.ui.retainedExecutions": "10",
    "spark.sql.maxPlanStringLength": "1000000",
    # Spark starts a task for each directory that it lists, up to 10,000; for a table of thousands of partitions, these
    # tasks take longer than all the rest of a small merge
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "64",
    **{_HADOOP + name: value for name, value in HDFS_CLIENT.items()},
}

_EMBEDDED_SETTINGS: Mapping[str, str] = {
    _HADOOP + _HIVE_URIS: "",
    _HADOOP + _JDO_DRIVER: "org.apache.derby.jdbc.EmbeddedDriver",
    _HADOOP + "datanucleus.schema.autoCreateAll": "true",
    _HADOOP + "hive.metastore.schema.verification": "false",
    # so that clients that do verify can open it
    _HADOOP + "hive.metastore.schema.verification.record.version": "true",
    # Hive makes each call that fails ten times, by default two seconds apart. Derby, in this process, is either free by
    # then or has failed: with a full disk, a run would seem to hang.
    _HADOOP + "hive.hmshandler.retry.interval": "200ms",
}

#: Derby's folder, below the warehouse. The underscore keeps it from being a table's name in Hive.
EMBEDDED_FOLDER = "_metastore_db"
# Spark's own names, the defaults.
_SPARKS_DERBY = "metastore_db"
_SPARKS_WAREHOUSE = "spark-warehouse"


class Target(Protocol):
    """What a profile says of Spark.

    Attributes:
        warehouse: the folder (a path or a URI) below which schemas and tables are created.
        metastore: :data:`EMBEDDED` or the URIs of a metastore; ``None`` where spark-defaults.conf and hive-site.xml
            decide, as for the warehouse.
        server_side_parameters: settings of Spark and Hive, by name.
        folder: where relative paths begin.
    """

    warehouse: str | None
    metastore: str | None
    server_side_parameters: dict[str, Any]

    @property
    def folder(self) -> Path: ...


@dataclass(frozen=True)
class Configuration:
    """The settings that the application starts with, and what follows from them.

    Attributes:
        application: settings for the builder of the root session.
        metastore_uris: addresses of the metastore, empty when it is embedded.
        derby: the embedded metastore's folder; ``None`` when it is remote, in memory or no Derby.
        warehouse: the warehouse's local folder; ``None`` where it is not local, or not named by the profile.
        python: the interpreter of Python models; ``None`` for the one that Spark finds.
        unread: settings that are meant to name the metastore, but have names under which Spark does not read them.
    """

    application: Mapping[str, str]
    metastore_uris: str
    derby: Path | None
    warehouse: Path | None
    python: str | None = None
    unread: tuple[str, ...] = ()

    @property
    def metastore(self) -> str:
        """The metastore in words."""
        return self.metastore_uris or f"{EMBEDDED} ({self.derby or 'in memory or by hive-site.xml'})"

    @property
    def derby_log(self) -> Path | None:
        """Where Derby writes its log; ``None`` if the metastore is a server."""
        if self.derby:
            return self.derby.with_name(self.derby.name + ".log")
        return None if self.metastore_uris else Path(os.devnull)

    def rehearsed(self) -> Configuration:
        """The same, with an embedded metastore in memory instead of its folder."""
        url = "jdbc:derby:memory:lakemerge_rehearsal;create=true"
        return replace(self, application={**self.application, _HADOOP + _JDO_URL: url}, derby=None)

    @classmethod
    def of(cls, target: Target) -> Configuration:
        """Work out the settings for a target in the environment of this process."""
        given = target.server_side_parameters
        outside = {**_hive_site(), **_spark_defaults()}
        application = dict(given)
        for name, value in _DEFAULTS.items():
            if name not in outside:
                application.setdefault(name, value)
        embedded = target.metastore == EMBEDDED
        # no metastore is named: Spark would open one in whatever folder dbt was called in
        unnamed = not any(
            (target.metastore, _named(given, outside, _HIVE_URIS), _named(given, outside, _JDO_URL))
        )
        location = target.warehouse or given.get(_WAREHOUSE)
        if location is None and embedded:
            location = outside.get(_WAREHOUSE, _SPARKS_WAREHOUSE)
        elif location is None and unnamed and not _named(given, outside, _WAREHOUSE, _HIVE_WAREHOUSE):
            location = _SPARKS_WAREHOUSE
        warehouse = _local(location, target.folder) if location else None
        if location:
            # not an encoded URI: Hadoop does not decode it, and would make a folder named `my%20tables`
            application[_WAREHOUSE] = f"file://{warehouse}" if warehouse else location
        if embedded or unnamed:
            folder = warehouse / EMBEDDED_FOLDER if warehouse and embedded else target.folder / _SPARKS_DERBY
            database = {_HADOOP + _JDO_URL: f"jdbc:derby:;databaseName={folder};create=true"}
            application = {**_EMBEDDED_SETTINGS, **database, **application}
        elif target.metastore:
            application[_HADOOP + _HIVE_URIS] = target.metastore
        application.update(_REQUIRED_OF_APPLICATION)
        # spark-submit warns of names that are not Spark's; each session is given these settings instead
        application = {name: value for name, value in application.items() if name.startswith("spark.")}
        known = {**outside, **application}
        remember(known)
        uris = _hive_setting(known, _HIVE_URIS) or ""
        url = _hive_setting(known, _JDO_URL) or f"jdbc:derby:;databaseName={_SPARKS_DERBY}"
        return cls(
            application=application,
            metastore_uris=uris,
            derby=None if uris else _derby_folder(url),
            warehouse=warehouse,
            python=_python(known),
            unread=() if target.metastore else _unread(given, _spark_defaults()),
        )


def _python(known: Mapping[str, str]) -> str | None:
    """The interpreter that is named, or this one where tasks run on this machine.

    Spark itself takes the ``python3`` of the PATH, which is another one where dbt is called by its full path. It reads
    the setting in spark-submit only.
    """
    on_this_machine = known.get("spark.master", "local").startswith("local")
    return known.get("spark.pyspark.python") or (sys.executable if on_this_machine else None)


def _hive_setting(known: Mapping[str, str], name: str) -> str | None:
    """A setting of Hive under any of the names that Spark knows; hive-site.xml counts least."""
    names = (_HADOOP + name, f"spark.{name}", name)
    return next((known[variant] for variant in names if variant in known), None)


def _unread(*sources: Mapping[str, str]) -> tuple[str, ...]:
    """The metastore's settings in these sources that Spark does not pass on to Hive, because their names lack a prefix.

    From hive-site.xml, Hive reads such settings itself.
    """
    names = (_HIVE_URIS, _JDO_URL, f"spark.{_JDO_URL}")
    return tuple(name for name in names if any(name in source for source in sources))


def _named(given: Mapping[str, str], outside: Mapping[str, str], *names: str) -> bool:
    """Whether the profile, spark-defaults.conf or hive-site.xml has a value for one of these settings."""
    return any(_hive_setting({**outside, **given}, name) for name in names)


def session_settings(target: Target) -> dict[str, str]:
    """The settings of each session of a target: its own, and those that no profile may change."""
    return {**target.server_side_parameters, **REQUIRED_OF_SESSIONS}


def _derby_folder(url: str) -> Path | None:
    """The folder that a JDBC URL of Derby names; ``None`` for other databases and for memory."""
    match = re.match(r"jdbc:derby:(?!//)(?P<path>[^;]*)(?P<attributes>.*)", url)
    if match is None:
        return None
    named = re.search(r";databaseName=([^;]*)", match["attributes"])
    path = match["path"] or (named[1] if named else "")
    if not path or path.startswith("memory:"):
        return None
    return Path(path.removeprefix("directory:")).absolute()


def _local(location: str, base: Path) -> Path | None:
    """The absolute path of a local path or ``file:`` URI; ``None`` for another file system."""
    parsed = urlparse(location)
    if parsed.scheme == "file":
        return Path(unquote(parsed.path))
    # one letter is a Windows drive
    if len(parsed.scheme) > 1:
        return None
    return (base / Path(location).expanduser()).resolve()


def is_thrift_uri(text: str) -> bool:
    """Whether this is the URI of one metastore."""
    return _THRIFT_URI.fullmatch(text) is not None


def thrift_addresses(uris: str) -> Iterable[tuple[str, int]]:
    """Host and port of each URI of a list joined by commas; URIs of another form are left out."""
    for uri in uris.split(","):
        if match := _THRIFT_URI.fullmatch(uri.strip()):
            yield match["host"].strip("[]"), int(match["port"])


def spark_home() -> Path:
    """The folder of the Spark that starts."""
    if home := os.environ.get("SPARK_HOME"):
        return Path(home)
    import pyspark

    return Path(pyspark.__file__).parent


def _conf_folders() -> list[Path]:
    named = [os.environ.get(name) for name in ("SPARK_CONF_DIR", "HADOOP_CONF_DIR", "YARN_CONF_DIR")]
    folders = [Path(folder) for folder in named if folder]
    return folders if named[0] else [spark_home() / "conf", *folders]


def configures_logging() -> bool:
    """Whether this environment has a log configuration of its own."""
    options = os.environ.get("SPARK_SUBMIT_OPTS", "")
    names = ("log4j2.properties", "log4j2.xml", "log4j2.yaml")
    return "log4j2.configurationFile" in options or any(
        (folder / name).is_file() for folder in _conf_folders() for name in names
    )


def _spark_defaults() -> dict[str, str]:
    path = _conf_folders()[0] / "spark-defaults.conf"
    if not path.is_file():
        return {}
    rows = (line.strip() for line in path.read_text(errors="replace").splitlines())
    pairs = (re.split(r"\s*[=:\s]\s*", row, maxsplit=1) for row in rows if row and row[0] not in "#!")
    return {pair[0]: pair[1] for pair in pairs if len(pair) == 2}


def _hive_site() -> dict[str, str]:
    # Hive's client, also the one in Spark, looks there if the classpath has none
    hives = os.environ.get("HIVE_CONF_DIR")
    for folder in [*_conf_folders(), *([Path(hives)] if hives else [])]:
        path = folder / "hive-site.xml"
        if path.is_file():
            properties = ElementTree.parse(path).getroot().iter("property")
            pairs = ((row.findtext("name"), row.findtext("value")) for row in properties)
            return {name.strip(): (value or "").strip() for name, value in pairs if name}
    return {}
