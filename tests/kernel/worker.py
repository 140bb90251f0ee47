"""A process that does one commit and may be told to die in it.

Usage: python -m kernel.worker '{"conf": {…}, "gateway": [port, token] or null, "table": "t", "kind": "swap",
"step": "claimed" or null, "write": 3 or null, "stops": 1.0}'. Without a gateway it starts a JVM of its own. With
`stops`, the seconds of its lease, it does not die at the step, but stops. Without an argument it does a job for each
line of its standard input, each in a process of its own, and answers with how that ended: its exit code, or below 0 the
number of the signal.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from typing import Any

from py4j.java_gateway import GatewayParameters, JavaGateway

from kernel.commits import EVERY
from kernel.faults import HookedFileSystem, HookedMetastore, KillAfterWrite, die, stop
from kernel.groups import GROUPS
from lakemerge.kernel import Jvm, Kernel, Settings, TableName, ports_of
from lakemerge.kernel.jvm.hive_classes import HiveClasses


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
    return Jvm(java, configuration, HiveClasses.of_class_path(java))


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


def serve() -> None:
    for line in sys.stdin:
        # forked, for a start of Python takes longer than a commit; nothing is open and no thread runs here
        child = os.fork()
        if not child:
            try:
                main(json.loads(line))
            except BaseException:  # noqa: BLE001 - the exit code tells
                traceback.print_exc()
                sys.stderr.flush()
                os._exit(1)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    main(json.loads(sys.argv[1])) if len(sys.argv) > 1 else serve()
