"""The tutorial, done as it says: its files, its commands, and the output that it shows."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from environments import Environment, run
from run_tutorial import Command, NewFile, steps

from lakemerge.java import find_java
from small_spark import SMALL_SPARK

pytestmark = pytest.mark.slow

RUNNER = Path(__file__).with_name("run_tutorial.py")
#: What differs from run to run, and what stands for it in both texts.
VARYING = {
    r"^\d\d:\d\d:\d\d  ": "",
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00": "TIME",
    r" in \d+\.\d+s\]": " in TIME]",
    r" +\d+ bytes": " BYTES",
    r"  run [0-9a-f-]{36}": "  RUN",
    # dbt-core 1.11 does not count them
    r" REUSED=\d+": "",
    r" +$": "",
}


def without_varying(text: str) -> str:
    for pattern, steady in VARYING.items():
        text = re.sub(pattern, steady, text, flags=re.MULTILINE)
    return text.strip("\n")


def shows(shown: str, printed: str) -> bool:
    """Whether a text shows what was printed; a line `…` stands for any number of lines."""
    lines = without_varying(shown).split("\n")
    pattern = "\n".join("OMITTED" if line == "…" else re.escape(line) for line in lines)
    pattern = pattern.replace("OMITTED\n", r"(?:.*\n)*?").replace("\nOMITTED", r"(?:\n.*)*")
    return re.fullmatch(pattern, without_varying(printed)) is not None


@pytest.mark.parametrize("how", ["--one-process", ""])
def test_the_tutorial_does_what_it_says(wheel_environment: Environment, tmp_path: Path, how: str) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    dbt = programs / "dbt"
    dbt.write_text(
        f'#!/bin/sh\nexec {wheel_environment.python} -c "from dbt.cli.main import cli; cli()" "$@"\n'
    )
    dbt.chmod(0o755)
    (tmp_path / "spark-defaults.conf").write_text(
        "".join(f"{key} {value}\n" for key, value in SMALL_SPARK.items())
    )
    folder = tmp_path / "shop"
    folder.mkdir()
    reported = run(
        [wheel_environment.python, RUNNER, how],
        cwd=folder,
        variables={
            "DBT_USE_COLORS": "false",
            "HOME": str(tmp_path),
            "JAVA_HOME": str(find_java().home),
            "PATH": f"{programs}:/usr/bin:/bin",
            "SPARK_CONF_DIR": str(tmp_path),
        },
    )
    commands = [step for step in steps() if isinstance(step, Command)]
    outputs = json.loads(reported.splitlines()[-1])
    for command, printed in zip(commands, outputs, strict=True):
        assert shows(command.shown, printed), f"{command.line} printed\n{printed}\nnot\n{command.shown}"
    # Spark's own names, where the profile names neither metastore nor warehouse
    assert (folder / "metastore_db").is_dir()
    assert (folder / "spark-warehouse" / "shop.db").is_dir()


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        (
            "…\n09:30:21  1 of 1 OK [MERGE (1 inserted) in 2.14s]\n…\n",
            "a\nb\n1 of 1 OK [MERGE (1 inserted) in 9.99s]\n",
        ),
        ("a\n…\nb\n", "a\n1\n2\nb\n"),
        ("", "\n"),
    ],
)
def test_output_is_compared_without_what_varies(shown: str, printed: str) -> None:
    assert shows(shown, printed)


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ("…\n1 of 1 OK [MERGE (1 inserted) in 2.14s]\n", "1 of 1 OK [MERGE (2 inserted) in 2.14s]\n"),
        ("a\nb\n", "a\n1\nb\n"),
        ("a\n", "a\nb\n"),
        ("", "a\n"),
    ],
)
def test_another_output_is_told_apart(shown: str, printed: str) -> None:
    assert not shows(shown, printed)


def test_files_and_commands_are_read_in_order() -> None:
    text = 'x\n```csv title="a/b.csv"\n1\n```\n\n```sh\nno\n```\n\n```console\n$ ls\n$ cat a/b.csv\n1\n```\n'
    assert list(steps(text)) == [
        NewFile(Path("a/b.csv"), "1\n"),
        Command("ls", ""),
        Command("cat a/b.csv", "1\n"),
    ]
