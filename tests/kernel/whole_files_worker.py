"""Processes that write two files, each killed at another of its calls of Java.

Usage: python -m kernel.whole_files_worker '{"gateway": [port, token], "conf": {…}, "folder": "/…", "text": "…"}'. The
n-th process writes `fresh-n` and `known-n` in the folder, and is killed right before its n-th call; the last is not.
Ends with the number of kills on standard output.
"""

from __future__ import annotations

import itertools
import json
import os
import signal
import sys
from typing import Any

from py4j.java_gateway import GatewayClient

from kernel.faults import die
from kernel.worker import connect
from lakemerge.kernel.jvm import HadoopFileSystem


def write(job: dict[str, Any], number: int) -> None:
    files = HadoopFileSystem(connect(job["conf"], job["gateway"]))
    files.write_text(f"file:{job['folder']}/warm-{number}", "")  # py4j looks up each Java name once
    send, left = GatewayClient.send_command, [number]

    def counted(self: GatewayClient, *args: Any, **kwargs: Any) -> Any:
        left[0] -= 1
        if left[0] == 0:
            die()
        return send(self, *args, **kwargs)

    GatewayClient.send_command = counted
    for name in ("fresh", "known"):
        files.write_text(f"file:{job['folder']}/{name}-{number}", job["text"])


def main(job: dict[str, Any]) -> None:
    for number in itertools.count(1):
        # forked, for a start of Python takes longer than all the rest; nothing is open and no thread runs here
        child = os.fork()
        if not child:
            write(job, number)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if os.WIFEXITED(status):
            assert os.WEXITSTATUS(status) == 0
            print(number - 1)
            return
        assert os.WTERMSIG(status) == signal.SIGKILL


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
