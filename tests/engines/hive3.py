"""The metastore of Hive 3.1 on PostgreSQL; see scripts/install_metastore_database.sh hive3.

It lacks HIVE-26882: it does not compare the expected value of a parameter, so commits need its locks.
"""

from __future__ import annotations

from pathlib import Path

from engines import postgres
from engines.installed import folder_of
from engines.postgres import DRIVER, SCRIPTS, SCRIPTS_TO_3_1, Postgres

__all__ = ["DRIVER", "JARS", "SETTINGS", "database", "missing"]

_FOLDER = folder_of("hive3-metastore", "LAKEMERGE_HIVE3_METASTORE")
#: Its own jars come first: Hadoop's, of another release, must not replace what they contain.
JARS: tuple[Path, ...] = (_FOLDER / "lib" / "*", _FOLDER / "hadoop" / "*")
SETTINGS = {
    # the defaults are classes of Hive's query engine, which a metastore alone does not have
    "metastore.expression.proxy": "org.apache.hadoop.hive.metastore.DefaultPartitionExpressionProxy",
    "metastore.task.threads.always": "org.apache.hadoop.hive.metastore.events.EventCleanerTask",
}


def missing() -> str:
    """What is not installed, for the reason of a skipped test; empty where all is."""
    if lacking := postgres.missing():
        return lacking
    if (_FOLDER / "version").exists():
        return ""
    return f"needs Hive 3.1's metastore in {_FOLDER}: run scripts/install_metastore_database.sh hive3"


def database() -> Postgres:
    """Its database, to be started."""
    return Postgres((*SCRIPTS, *SCRIPTS_TO_3_1))
