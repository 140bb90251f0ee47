"""A private MariaDB with Hive's schema, for metastores; see scripts/install_metastore_database.sh."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from engines.postgres import SCHEMA, SCRIPTS
from kernel.servers import free_port

DRIVER = Path("/usr/share/java/mariadb-java-client.jar")
_SERVER = Path("/usr/sbin/mariadbd")
_MOST_SECONDS = 120


def missing() -> str:
    """What is not installed, for the reason of a skipped test; empty where all is."""
    needed = (_SERVER, DRIVER, SCHEMA / f"{SCRIPTS[0]}.mysql.sql")
    lacking = [str(path) for path in needed if not path.exists()]
    return f"needs {', '.join(lacking)}: run scripts/install_metastore_database.sh mariadb" if lacking else ""


class MariaDb:
    """One server with one database, gone when it is stopped."""

    def start(self) -> MariaDb:
        """Make the database, start the server and load Hive's schema."""
        self._directory = Path(tempfile.mkdtemp(prefix="lakemerge-mariadb-"))
        self._port = free_port()
        data, user = f"--datadir={self._directory / 'data'}", f"--user={_user()}"
        if os.geteuid() == 0:
            shutil.chown(self._directory, _user(), _user())
        self._run("mariadb-install-db", data, user, "--auth-root-authentication-method=normal")
        with (self._directory / "log").open("w") as log:
            self._process = subprocess.Popen(
                [
                    str(_SERVER),
                    "--no-defaults",
                    data,
                    user,
                    f"--port={self._port}",
                    "--bind-address=127.0.0.1",
                    f"--socket={self._socket}",
                    f"--pid-file={self._directory / 'pid'}",
                    "--innodb-flush-log-at-trx-commit=0",
                ],
                stdout=log,
                stderr=log,
            )
        deadline = time.monotonic() + _MOST_SECONDS
        while not self._socket.exists():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError((self._directory / "log").read_text()[-2000:])
            time.sleep(0.1)
        self._run(
            *self._client,
            stdin=b"create database hms character set latin1; "
            b"create user hive@localhost identified by 'hive'; grant all on hms.* to hive@localhost;"
            b"create user hive@'127.0.0.1' identified by 'hive'; grant all on hms.* to hive@'127.0.0.1';",
        )
        for script in SCRIPTS:
            # the scripts read others of their folder
            sql = (SCHEMA / f"{script}.mysql.sql").read_bytes()
            self._run(*self._client, "hms", stdin=sql, folder=SCHEMA)
        return self

    @property
    def _socket(self) -> Path:
        return self._directory / "socket"

    @property
    def _client(self) -> tuple[str, ...]:
        return ("mariadb", "--no-defaults", f"--socket={self._socket}", "--user=root")

    @property
    def settings(self) -> dict[str, str]:
        """What a metastore's hive-site.xml says to use this database."""
        return {
            # without useMysqlMetadata, Hive takes the driver's database for an unknown one, and sends it no SQL
            "javax.jdo.option.ConnectionURL": f"jdbc:mariadb://127.0.0.1:{self._port}/hms?useMysqlMetadata=true",
            "javax.jdo.option.ConnectionDriverName": "org.mariadb.jdbc.Driver",
            "javax.jdo.option.ConnectionUserName": "hive",
            "javax.jdo.option.ConnectionPassword": "hive",
            "datanucleus.schema.autoCreateAll": "false",
        }

    def stop(self) -> None:
        """Stop the server and delete its files."""
        self._process.kill()
        self._process.wait()
        shutil.rmtree(self._directory)

    def _run(self, *command: str, stdin: bytes = b"", folder: Path = Path("/")) -> None:
        done = subprocess.run(
            command, cwd=folder, input=stdin, capture_output=True, timeout=_MOST_SECONDS, check=False
        )
        if done.returncode:
            raise RuntimeError(f"{command[0]}: {done.stderr.decode()[-2000:]}")


def _user() -> str:
    """Whom the server runs as: not root, if it can be helped."""
    return "mysql" if os.geteuid() == 0 else str(os.environ.get("USER", ""))
