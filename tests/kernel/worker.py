"""A process that does one commit and may be told to die in it.

Usage: python -m kernel.worker '{"conf": {…}, "gateway": [port, token] or null, "table": "t", "kind": "swap",
"step": "claimed" or null, "write": 3 or null, "stops": 1.0}'. Without a gateway it starts a JVM of its own. With
`stops`, the seconds of its lease, it does not die at the step, but stops.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from py4j.java_gateway import GatewayParameters, JavaGateway

from kernel.commits import EVERY
from kernel.faults import HookedFileSystem, HookedMetastore, KillAfterWrite, die, stop
from kernel.groups import GROUPS
from lakemerge.kernel import Jvm, Kernel, Settings, TableName, ports_of


def connect(conf: dict[str, str], gateway: list[Any] | None) -> Jvm:
    """A JVM: another process's by its gateway's port and token, or a new one."""
    if gateway is None:
        return Jvm.launch(conf)
    port, token = gateway
    parameters = GatewayParameters(port=port, auth_token=token, auto_convert=True)
    java = JavaGateway(gateway_parameters=parameters)
    configuration = java.jvm.org.apache.hadoop.conf.Configuration()
    for key, value in conf.items():
        configuration.set(key, value)
    return Jvm(java, configuration)


def main(job: dict[str, Any]) -> None:
    jvm = connect(job["conf"], job["gateway"])
    killer = KillAfterWrite(job["write"] or 0)
    lease = job.get("stops")
    kernel = Kernel(
        ports_of(
            jvm,
            metastore=HookedMetastore(jvm, after=killer.metastore),
            files=HookedFileSystem(jvm, after=killer.storage),
        ),
        Settings(lease_seconds=lease) if lease else None,
        step=lambda step: (stop if lease else die)() if step == job["step"] else None,
    )
    kind = GROUPS[job["kind"]] if job["kind"] in GROUPS else EVERY[job["kind"]]
    kind.run(kernel, TableName("default", job["table"]))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
