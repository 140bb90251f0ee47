"""A command in a process that dies by SIGKILL when a commit of its has done a step.

`die_at_step.py <step> dbt run …` or `die_at_step.py <step> lakemerge stream …`.
"""

from __future__ import annotations

import os
import signal
import sys

from dbt.adapters.lakemerge.cli import cli as lakemerge
from dbt.cli.main import cli as dbt

from lakemerge.kernel import Kernel


def main(step: str, program: str, arguments: list[str]) -> None:
    def die(done: str) -> None:
        if done == step:
            os.kill(os.getpid(), signal.SIGKILL)

    Kernel.__init__.__kwdefaults__["step"] = die  # type: ignore[index]
    sys.argv = [program, *arguments]
    {"dbt": dbt, "lakemerge": lakemerge}[program]()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
