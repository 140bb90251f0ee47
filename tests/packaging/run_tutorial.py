"""Do what docs/tutorial.md says, in the current folder; the last line has what each command printed, as JSON.

Files are fences with a title, commands are the lines after `$` of `console` fences. With `--one-process`, dbt's
commands share a process and its Spark, and print the same.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

TUTORIAL = Path(__file__).parents[2] / "docs" / "tutorial.md"
_FENCE = re.compile(r"^```(\w+)(?: title=\"([^\"\n]+)\")?\n(.*?)^```", re.MULTILINE | re.DOTALL)
_A_MINUTE = 60


@dataclass(frozen=True)
class NewFile:
    """A file that the reader writes."""

    path: Path
    text: str


@dataclass(frozen=True)
class Command:
    """A line that the reader enters, and what the tutorial says it prints, `…` where something is left out."""

    line: str
    shown: str


def steps(markdown: str = TUTORIAL.read_text()) -> Iterator[NewFile | Command]:
    """Files and commands in their order."""
    for language, title, text in _FENCE.findall(markdown):
        if title:
            yield NewFile(Path(title), text)
        elif language == "console":
            for entered in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
                line, _, shown = entered.partition("\n")
                yield Command(line, shown)


def in_shell(line: str) -> str:
    """What a command prints; an error with it if it fails."""
    done = subprocess.run(line, capture_output=True, check=False, shell=True, text=True)
    if done.returncode:
        raise SystemExit(f"{line} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}")
    return done.stdout


def dbt_in_this_process(line: str) -> str:
    """What a command of dbt prints, run in this process; other commands in a shell."""
    program, *arguments = shlex.split(line)
    if program != "dbt":
        return in_shell(line)
    from dbt.cli.main import dbtRunner

    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        done = dbtRunner().invoke(arguments)
    if not done.success:
        raise SystemExit(f"{line} failed with {done.exception}:\n{printed.getvalue()}")
    return printed.getvalue()


def follow(run: Callable[[str], str]) -> Iterator[str]:
    """Write each file and run each command; what the commands print."""
    for step in steps():
        if isinstance(step, Command):
            yield run(step.line)
            continue
        step.path.parent.mkdir(parents=True, exist_ok=True)
        step.path.write_text(step.text)
        # nobody gets to the next command within the seconds in which a file may still be growing
        os.utime(step.path, (time.time() - _A_MINUTE,) * 2)


if __name__ == "__main__":
    outputs = list(follow(dbt_in_this_process if "--one-process" in sys.argv else in_shell))
    print()
    print(json.dumps(outputs))
