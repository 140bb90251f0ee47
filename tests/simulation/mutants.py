"""Known faults put back into the code, one at a time: what the simulator must find.

``python -m simulation.mutants`` runs each until a seed finds it, and prints how many that took.
"""

from __future__ import annotations

import argparse
import importlib.abc
import importlib.machinery
import importlib.util
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from simulation.known_faults import MUTANTS
from simulation.mutant import Mutant

SOURCES = Path(__file__).parents[2] / "src"


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Loads one module from a changed text."""

    def __init__(self, mutant: Mutant) -> None:
        self._name = f"lakemerge.{mutant.module}"
        self._path = SOURCES / f"{self._name.replace('.', '/')}.py"
        text = self._path.read_text()
        if text.count(mutant.old) != 1:
            raise LookupError(
                f"expected the text of this mutant once in {self._path}, found {text.count(mutant.old)}"
            )
        self._text = text.replace(mutant.old, mutant.new)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self._name:
            return None
        return importlib.util.spec_from_loader(fullname, self, origin=str(self._path))

    def exec_module(self, module: ModuleType) -> None:
        exec(compile(self._text, self._path, "exec"), module.__dict__)


def install(name: str) -> None:
    """Put a fault into the code that is imported from here on."""
    sys.meta_path.insert(0, _Finder(MUTANTS[name]))


def seeds_needed(name: str, most: int) -> tuple[int | None, str]:
    """How many seeds it takes to find a mutant, and what is seen; ``None`` if so many do not."""
    command = [sys.executable, "-m", "simulation", "--mutant", name, "--seeds", str(most), "--shrink", "0"]
    command += ["--first", str(first := MUTANTS[name].first)]
    environment = {
        **os.environ,
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": f"{SOURCES}{os.pathsep}{SOURCES.parent / 'tests'}",
    }
    output = subprocess.run(command, capture_output=True, text=True, check=False, env=environment).stdout
    for line in output.splitlines():
        if line.startswith("seed "):
            seed, _, found = line.removeprefix("seed ").partition(": ")
            return int(seed) - first + 1, found
    return None, output[-200:]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20_000, help="how many to try at most")
    parser.add_argument("names", nargs="*", default=list(MUTANTS))
    args = parser.parse_args()
    survivors = 0
    print("| mutant | seeds | what is seen |\n|---|---|---|")
    for name in args.names:
        seeds, found = seeds_needed(name, args.seeds)
        survivors += seeds is None
        print(f"| {MUTANTS[name].says} | {seeds or 'not found'} | {found[:100]} |", flush=True)
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
