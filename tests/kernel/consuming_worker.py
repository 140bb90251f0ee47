"""A process that runs a consumer once and may be told to die in it.

Usage: python -m kernel.consuming_worker '{"conf": {…}, "gateway": [port, token] or null, "source": "s", "output": "o",
"limit": 2, "changes": false, "write": 3 or null}'.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from kernel.consuming import consume
from kernel.faults import HookedFileSystem, HookedMetastore, KillAfterWrite
from kernel.worker import connect
from lakemerge.consumer import Options
from lakemerge.kernel import Kernel, TableName, ports_of


def main(job: dict[str, Any]) -> None:
    jvm = connect(job["conf"], job["gateway"])
    kernel = Kernel(ports_of(jvm))
    if job["write"]:
        kill = KillAfterWrite(job["write"])
        kernel = Kernel(
            ports_of(
                jvm,
                metastore=HookedMetastore(jvm, after=kill.metastore),
                files=HookedFileSystem(jvm, after=kill.storage),
            )
        )
    source, output = TableName("default", job["source"]), TableName("default", job["output"])
    options = Options(limit=job["limit"], max_retries=100, changes=job["changes"])
    print(json.dumps(consume(kernel, source, output, options)))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
