"""The Java that a process of dbt started, and what is told when it dies."""

from __future__ import annotations

import contextlib
import subprocess
import time

import psutil

from bounded import MOST_SECONDS

#: How the error that is told begins.
REASON = "JavaDied: Expected the Java process that runs Spark to stay alive; found that it "
#: What must not be told of besides.
NOISE = (
    "Unhandled",
    "Traceback",
    "refused",
    "Errno",
    "py4j",
    "Py4J",
    "hile releasing",
    "could not be cleaned",
)


def java_of(process: subprocess.Popen[str]) -> psutil.Process:
    """The Java that a process started."""
    (java,) = [
        child for child in psutil.Process(process.pid).children(recursive=True) if child.name() == "java"
    ]
    return java


def kill_java(process: subprocess.Popen[str]) -> None:
    """Kill the Java that a process started, and wait until it is dead: on a busy machine that takes a while."""
    java = java_of(process)
    java.kill()
    deadline = time.monotonic() + MOST_SECONDS
    with contextlib.suppress(psutil.NoSuchProcess):
        while java.status() != psutil.STATUS_ZOMBIE:
            assert time.monotonic() < deadline, "Java does not die"
            time.sleep(0.05)
