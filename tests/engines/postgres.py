"""A private PostgreSQL with Hive's schema, for metastores; see scripts/install_metastore_database.sh postgres."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

from engines.installed import folder_of

DRIVER = Path("/usr/share/java/postgresql.jar")
SCHEMA = folder_of("hive-schema", "LAKEMERGE_HIVE_SCHEMA")
#: Hive's schema of 2.3, in steps.
SCRIPTS = (
    "hive-schema-1.2.0",
    "upgrade-1.2.0-to-2.0.0",
    "upgrade-2.0.0-to-2.1.0",
    "upgrade-2.1.0-to-2.2.0",
    "upgrade-2.2.0-to-2.3.0",
)
_MOST_SECONDS = 120


def programs() -> Path | None:
    """The folder of the newest installed server's programs."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return found[-1].parent if found else None


def missing() -> str:
    """What is not installed, for the reason of a skipped test; empty where all is."""
    lacking = [
        what
        for what, there in (
            ("a PostgreSQL server", programs() is not None),
            (f"its JDBC driver {DRIVER}", DRIVER.exists()),
            (f"Hive's schema scripts in {SCHEMA}", (SCHEMA / f"{SCRIPTS[0]}.postgres.sql").exists()),
        )
        if not there
    ]
    return (
        f"needs {', '.join(lacking)}: run scripts/install_metastore_database.sh postgres" if lacking else ""
    )


class Postgres:
    """One server with one database, gone when it is stopped.

    Args:
        schema: the script that makes Hive's schema, if not that of 2.3.
    """

    def __init__(self, schema: Path | None = None) -> None:
        self._scripts = [schema] if schema else [SCHEMA / f"{script}.postgres.sql" for script in SCRIPTS]
        found = programs()
        assert found is not None, missing()
        self._programs = found
        with socket.socket() as probe:
            probe.bind(("localhost", 0))
            self._port = probe.getsockname()[1]

    def start(self) -> Postgres:
        """Make the cluster, start it and load Hive's schema."""
        # not in pytest's folder, which every session of pytest closes to others than its user
        self._directory = Path(tempfile.mkdtemp(prefix="lakemerge-postgres-"))
        if os.geteuid() == 0:
            shutil.chown(self._directory, "postgres", "postgres")  # the server refuses to run as root
        data = str(self._directory / "data")
        self._run("initdb", "-D", data, "-U", "hive", "-A", "trust", "-E", "UTF8", "--locale=C")
        options = f"-p {self._port} -k '' -c listen_addresses=localhost -c fsync=off"
        log = str(self._directory / "log")
        self._run("pg_ctl", "-D", data, "-o", options, "-l", log, "-w", "start")
        self._run("createdb", *self._client, "metastore")
        for script in self._scripts:
            self._run("psql", *self._client, "-q", "-d", "metastore", stdin=script.read_bytes())
        return self

    @property
    def _client(self) -> tuple[str, ...]:
        return ("-h", "localhost", "-p", str(self._port), "-U", "hive")

    @property
    def settings(self) -> dict[str, str]:
        """What a metastore's hive-site.xml says to use this database."""
        return {
            "javax.jdo.option.ConnectionURL": f"jdbc:postgresql://localhost:{self._port}/metastore",
            "javax.jdo.option.ConnectionDriverName": "org.postgresql.Driver",
            "javax.jdo.option.ConnectionUserName": "hive",
            "javax.jdo.option.ConnectionPassword": "any",
            # automatic creation locks itself up on PostgreSQL
            "datanucleus.schema.autoCreateAll": "false",
        }

    def stop(self) -> None:
        """Stop the server and delete its files."""
        self._run("pg_ctl", "-D", str(self._directory / "data"), "-m", "immediate", "stop")
        shutil.rmtree(self._directory)

    def _run(self, program: str, *arguments: str, stdin: bytes = b"") -> None:
        command = [str(self._programs / program), *arguments]
        if os.geteuid() == 0:
            command = ["runuser", "-u", "postgres", "--", *command]
        done = subprocess.run(
            command, cwd="/", input=stdin, capture_output=True, timeout=_MOST_SECONDS, check=False
        )
        if done.returncode:
            raise RuntimeError(f"{program}: {done.stderr.decode()[-2000:]}")
