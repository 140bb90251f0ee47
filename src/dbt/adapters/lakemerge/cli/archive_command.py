"""``lakemerge archive-classes``: let Java start with less work from now on, on this machine."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import click
from dbt.include.lakemerge import PACKAGE_PATH

from lakemerge.class_archive import archive_of, record_options
from lakemerge.engine.spark.configuration import spark_home
from lakemerge.errors import ClassesNotArchived, LakemergeError
from lakemerge.java import ensure_java

_STARTER = Path(PACKAGE_PATH) / "starter_project"
# Java writes the archive when all else is done, which takes it less than a minute on a quiet machine.
_MOST_SECONDS = 900


@click.command("archive-classes")
def archive_classes() -> None:
    """Let Spark start with less CPU time from now on.

    Java loads some fifteen thousand classes before the first model runs. This builds a small project once and archives
    these classes, in a file of 200 MB in the user's cache folder, from which every later dbt command starts. The file
    fits this Java and this release of Spark: call the command again when either of them changes.
    """
    try:
        archive = make_archive()
    except LakemergeError as error:
        raise click.ClickException(f"{type(error).__name__}: {error}") from error
    click.echo(f"Java starts from {archive} from now on ({archive.stat().st_size / 1e6:.0f} MB).")


def make_archive() -> Path:
    """Make the archive for the Java and the Spark of this environment, in the place of an earlier one.

    Raises:
        JavaNotFound, JavaUnsupported: there is no Java that Spark runs on.
        ClassesNotArchived: Java did not write one.
    """
    archive = archive_of(ensure_java(), spark_home() / "jars")
    archive.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=archive.parent) as folder:
        made, project = Path(folder, "classes.jsa"), Path(folder, "starter")
        shutil.copytree(_STARTER, project)
        options = shlex.join(record_options(made))
        environment = {**os.environ, "SPARK_SUBMIT_OPTS": options, "DBT_PROFILES_DIR": str(project)}
        try:
            done = subprocess.run(
                [sys.executable, "-m", __name__],
                cwd=project,
                env=environment,
                capture_output=True,
                errors="replace",
                timeout=_MOST_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise _not_made(f"that it took longer than {_MOST_SECONDS} seconds") from error
        if done.returncode or not made.is_file():
            last = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()][-5:]
            raise _not_made("none; the last lines were: " + " / ".join(last))
        made.replace(archive)
    return archive


def _not_made(found: str) -> ClassesNotArchived:
    return ClassesNotArchived(
        expected="Java to write an archive of its classes",
        found=found,
        action="Correct what the lines name. Everything works without an archive, too. If the Java installation has no "
        "archive of its own classes (lib/server/classes.jsa), it cannot make one: try another one (JAVA_HOME).",
    )


def _build() -> int:
    """Build the project in the current folder, and end Java in good order; the exit code."""
    from dbt.cli.main import dbtRunner
    from pyspark import SparkContext

    succeeded = dbtRunner().invoke(["build", "--no-version-check"]).success
    gateway, context = SparkContext._gateway, SparkContext._active_spark_context
    if context is None or gateway is None:
        return 1
    context.stop()
    gateway.proc.stdin.close()  # Java ends when this pipe does
    gateway.proc.wait()
    return 0 if succeeded else 1


if __name__ == "__main__":
    sys.exit(_build())
