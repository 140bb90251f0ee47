"""The Java that a process of dbt started, and what is told when it dies."""

from __future__ import annotations

import subprocess

import psutil

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
