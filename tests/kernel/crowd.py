"""Processes of a soak: each has a role, may be killed at any moment, and goes on until it ends by itself."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

_TESTS = Path(__file__).parents[1]


class Crowd:
    """The processes of a soak, by role.

    Args:
        module: what each of them runs, with its job as JSON for its one argument.
        folder: where their standard errors go, as ``<role>.err``.
        job: makes the job of a role, anew for each process.

    Attributes:
        processes: those that have not ended.
    """

    def __init__(self, module: str, folder: Path, job: Callable[[str], dict[str, Any]]) -> None:
        self._module, self._folder, self._job = module, folder, job
        self.processes: dict[str, subprocess.Popen[str]] = {}

    def start(self, roles: Iterable[str]) -> None:
        for role in roles:
            with self._errors(role).open("a") as errors:
                self.processes[role] = subprocess.Popen(
                    [sys.executable, "-m", self._module, json.dumps(self._job(role))],
                    env={**os.environ, "PYTHONPATH": str(_TESTS)},
                    stderr=errors,
                    text=True,
                )

    def _errors(self, role: str) -> Path:
        return self._folder / f"{role}.err"

    def kill(self, role: str) -> None:
        self.processes[role].kill()

    def collect(self) -> list[str]:
        """Roles of those that were killed since, to be started again. Fails if one ended in any other bad way."""
        died = []
        for role, process in list(self.processes.items()):
            code = process.poll()
            if code is None:
                continue
            assert code in (0, -signal.SIGKILL), f"{role}:\n{self._errors(role).read_text()[-4000:]}"
            del self.processes[role]
            if code:
                died.append(role)
        return died

    def end(self) -> None:
        """Kill whoever is left."""
        for process in self.processes.values():
            process.kill()
            process.wait()
