"""A key distribution center (KDC) of Kerberos, MIT's, for this machine; see scripts/install_kerberos.sh."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from bounded import MOST_SECONDS
from kernel.servers import free_port, serve

REALM = "EXAMPLE.ORG"
_KDC, _ADMIN, _INIT = (
    Path(path) for path in ("/usr/sbin/krb5kdc", "/usr/sbin/kadmin.local", "/usr/bin/kinit")
)
_CLIENTS = """
[libdefaults]
default_realm = {realm}
dns_lookup_kdc = false
rdns = false
# by TCP
udp_preference_limit = 1
[realms]
{realm} = {{
 kdc = localhost:{port}
}}
[domain_realm]
localhost = {realm}
"""
_SERVER = """
[kdcdefaults]
kdc_listen = localhost:{port}
kdc_tcp_listen = localhost:{port}
[realms]
{realm} = {{
 database_name = {folder}/principals
 key_stash_file = {folder}/stash
 max_life = 1d
}}
"""


def missing() -> str:
    """What is not installed, for the reason of a skipped test; empty where all is."""
    there = all(path.exists() for path in (_KDC, _ADMIN, _INIT))
    return "" if there else "needs MIT's Kerberos: run scripts/install_kerberos.sh"


class Kerberos:
    """A KDC with a realm of its own, gone when it is stopped."""

    def start(self) -> Kerberos:
        """Make the realm and start its KDC."""
        self.folder = Path(tempfile.mkdtemp(prefix="lakemerge-kerberos-"))
        port = free_port()
        self.clients = self.folder / "krb5.conf"
        self.clients.write_text(_CLIENTS.format(realm=REALM, port=port))
        server = self.folder / "kdc.conf"
        server.write_text(_SERVER.format(realm=REALM, port=port, folder=self.folder))
        self._environment = {"KRB5_CONFIG": str(self.clients), "KRB5_KDC_PROFILE": str(server)}
        self._run("/usr/sbin/kdb5_util", "create", "-s", "-P", "of a test")
        self._process = serve([str(_KDC), "-n"], port, self.folder / "log", self._all())
        return self

    def keytab(self, principal: str, most_seconds: int = 86_400) -> Path:
        """Add a principal, and make the file by which it logs in.

        Args:
            most_seconds: for how long its tickets last.
        """
        path = self.folder / f"{principal.replace('/', '.')}.keytab"
        self._admin(f"addprinc -randkey -maxlife {most_seconds}seconds {principal}")
        self._admin(f"ktadd -k {path} {principal}")
        return path

    def log_in(self, principal: str, keytab: Path) -> dict[str, str]:
        """Get a ticket, as a user does; returns the environment in which it is found."""
        cache = {"KRB5CCNAME": str(self.folder / "tickets")}
        self._run(str(_INIT), "-k", "-t", str(keytab), principal, more=cache)
        return cache

    def stop(self) -> None:
        """End the KDC and delete the realm."""
        self._process.kill()
        self._process.wait()
        shutil.rmtree(self.folder)

    def _admin(self, command: str) -> None:
        self._run(str(_ADMIN), "-q", command)

    def _run(self, *command: str, more: Mapping[str, str] | None = None) -> None:
        environment = {**self._all(), **(more or {})}
        subprocess.run(command, env=environment, capture_output=True, timeout=MOST_SECONDS, check=True)

    def _all(self) -> dict[str, str]:
        return {**os.environ, **self._environment}
