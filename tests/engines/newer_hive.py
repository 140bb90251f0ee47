"""Where Hive 3.1 and 4 and their metastores are installed; see scripts/install_hive3.sh and install_hive4.sh."""

from __future__ import annotations

from pathlib import Path

from engines import postgres
from engines.installed import folder_of

_HIVE3 = folder_of("hive3", "LAKEMERGE_HIVE3")
_HIVE4 = folder_of("hive4", "LAKEMERGE_HIVE4")
#: The class paths of their metastores.
JARS_OF_3 = (_HIVE3 / "client" / "*",)
JARS_OF_4 = (_HIVE4 / "metastore" / "*", _HIVE4 / "client" / "*")
#: The scripts that make their schemas on PostgreSQL.
SCHEMA_OF_3, SCHEMA_OF_4 = _HIVE3 / "schema.sql", _HIVE4 / "schema.sql"
#: Hive and its Hadoop, for programs of Hive; of 4, also for Spark's client of such a metastore.
CLIENT_OF_3, CLIENT_OF_4 = _HIVE3 / "client", _HIVE4 / "client"
#: How Spark is told to speak to Hive 4's.
SPARK_OF_4 = {
    "spark.sql.hive.metastore.version": "4.0.1",
    "spark.sql.hive.metastore.jars": "path",
    "spark.sql.hive.metastore.jars.path": f"{CLIENT_OF_4.as_uri()}/*.jar",
}


def hive3_missing() -> str:
    """What is not installed, for the reason of a skipped test; empty where all is."""
    return postgres.missing() or _missing(_HIVE3, "hive3")


def hive4_missing() -> str:
    """As :func:`hive3_missing`."""
    return postgres.missing() or _missing(_HIVE4, "hive4")


def _missing(folder: Path, name: str) -> str:
    there = (folder / "version").exists()
    return "" if there else f"needs Hive's metastore in {folder}: run scripts/install_{name}.sh"
