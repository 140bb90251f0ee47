"""Virtual environments, and a user's dbt project to run in them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from empty_wheel import make_empty_wheel
from lakemerge.java import find_java
from small_spark import JAVA_OPTIONS

REPOSITORY = Path(__file__).parents[2]
FIRST_STEPS = Path(__file__).with_name("first_steps.py")
CONSUMER = Path(__file__).parent / "consumer"
# dbt-core calls it as a program, for --use-v2-parser alone. Installing it downloads that program from outside the
# package index.
_SECOND_PARSER = "dbt-core-experimental-parser"
# pip downloads pyspark, 450 MB
_MOST_SECONDS = 900


@dataclass(frozen=True)
class Distributions:
    """What ``python -m build`` makes: the wheel comes from the source distribution, not from the tree."""

    sdist: Path
    wheel: Path


@dataclass(frozen=True)
class Environment:
    """A virtual environment."""

    folder: Path

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.folder / "bin" / "python"

    @property
    def packages(self) -> Path:
        """Its site-packages."""
        return Path(self.run_python("import sysconfig; print(sysconfig.get_path('purelib'))").strip())

    def install(self, *requirements: str | Path) -> None:
        """Install with the pip that runs the tests."""
        pip: list[str | Path] = [
            sys.executable,
            "-m",
            "pip",
            "--python",
            self.python,
            "--disable-pip-version-check",
        ]
        run([*pip, "install", "--quiet", "--no-compile", *requirements])

    def run_python(self, code: str) -> str:
        """Standard output of a few lines of Python, outside the repository."""
        return run([self.python, "-c", code], cwd=self.folder)


@dataclass(frozen=True)
class Consumer:
    """A user's dbt project in a folder of its own, run with an environment's dbt.

    Attributes:
        variables: of the commands' environment.
    """

    environment: Environment
    folder: Path
    variables: dict[str, str]

    def dbt(self, *arguments: str | Path, cwd: Path | None = None) -> str:
        """Standard output of a dbt command, by default in the project's folder; fails the test if dbt fails."""
        dbt = "from dbt.cli.main import cli; cli()"
        command = [self.environment.python, "-c", dbt, "--no-use-colors", *arguments]
        return run(command, cwd=cwd or self.folder, variables=self.variables)


def run(
    command: Sequence[str | Path],
    cwd: Path | None = None,
    variables: dict[str, str] | None = None,
    typed: str = "",
) -> str:
    """Standard output of a command, which is given `typed` as its input; an error with all it printed if it fails."""
    # what an editable install, pytest or dbt of this process use is nothing to the child
    inherited = {
        key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "DBT_", "SPARK_"))
    }
    done = subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        check=False,
        cwd=cwd,
        env={**inherited, **(variables or {})},
        input=typed,
        text=True,
        timeout=_MOST_SECONDS,
    )
    if done.returncode:
        raise AssertionError(f"{command} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}")
    return done.stdout


def make_environment(folder: Path) -> Environment:
    """An empty virtual environment of the Python that runs the tests."""
    venv.create(folder, symlinks=True, with_pip=False)
    return Environment(folder)


def link_dependencies(environment: Environment) -> None:
    """Make the packages of this process's environment visible, behind the environment's own.

    A path file adds them as a plain folder, in which the editable install's own path file is not read.
    """
    folders = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    (environment.packages / "dependencies.pth").write_text("\n".join(sorted(folders)))


def stand_in_for_second_parser(folder: Path) -> tuple[str | Path, ...]:
    """Arguments of pip that install an empty wheel in the place of dbt-core's second parser, as `make env` does."""
    make_empty_wheel(_SECOND_PARSER, "2.9999", folder)
    return ("--find-links", folder, "--only-binary", _SECOND_PARSER)


def make_consumer(
    environment: Environment, folder: Path, variables: dict[str, str] | None = None
) -> Consumer:
    """A copy of the consumer project, for a user with an empty home."""
    shutil.copytree(CONSUMER, folder)
    java = {} if variables and "PATH" in variables else {"JAVA_HOME": str(find_java().home)}
    home = folder.with_name(f"{folder.name}-home")
    home.mkdir()
    return Consumer(environment, folder, {**java, "HOME": str(home), **(variables or {})})


def take_first_steps(environment: Environment, folder: Path) -> dict[str, Any]:
    """Make a project by `lakemerge init` in a new folder, build it twice, and report what `first_steps.py` counted."""
    folder.mkdir()
    run([environment.folder / "bin" / "lakemerge", "init", "shop"], cwd=folder)
    variables = {
        "JAVA_HOME": str(find_java().home),
        "HOME": str(folder.parent),
        "SPARK_SUBMIT_OPTS": JAVA_OPTIONS,
    }
    printed = run([environment.python, FIRST_STEPS], cwd=folder / "shop", variables=variables)
    steps: dict[str, Any] = json.loads(printed.splitlines()[-1])
    return steps
