"""A command in a process that dies by SIGKILL when a commit of its has done a step.

`die_at_step.py <step> dbt run …` or `die_at_step.py <step> lakemerge stream …`; by `java:<step>` the Java that it
started dies, and the process itself goes on. The variable MOST_DELTAS is a lower threshold than that of users.
"""

from __future__ import annotations

import os
import signal
import sys

from dbt.adapters.lakemerge.cli import cli as lakemerge
from dbt.cli.main import cli as dbt
from pyspark import SparkContext

from lakemerge import compaction_thresholds
from lakemerge.kernel import Kernel


def main(step: str, program: str, arguments: list[str]) -> None:
    of_java = step.startswith("java:")

    def die(done: str) -> None:
        if done == step.removeprefix("java:"):
            os.kill(SparkContext._gateway.proc.pid if of_java else os.getpid(), signal.SIGKILL)  # type: ignore[union-attr]

    Kernel.__init__.__kwdefaults__["step"] = die  # type: ignore[index]
    compaction_thresholds.DELTAS = int(os.environ.get("MOST_DELTAS", compaction_thresholds.DELTAS))
    # a shell lets what it starts in the background ignore Ctrl-C, and so all that this starts in turn
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.argv = [program, *arguments]
    {"dbt": dbt, "lakemerge": lakemerge}[program]()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
