"""The wheel in an environment without dbt: the guide's own lines, and what says that dbt is missing."""

from __future__ import annotations

import re
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest
from environments import REPOSITORY, Distributions, Environment, make_environment, run
from packaging.requirements import Requirement

pytestmark = pytest.mark.slow

GUIDE = REPOSITORY / "docs" / "guides" / "python.md"


def needed(name: str) -> dict[str, Distribution]:
    """The distributions that one needs without any of its extras, itself left out."""
    found: dict[str, Distribution] = {}
    ahead = [name]
    while ahead:
        for text in distribution(ahead.pop()).requires or ():
            requirement = Requirement(text)
            applies = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
            if applies and requirement.name not in found:
                found[requirement.name] = distribution(requirement.name)
                ahead.append(requirement.name)
    return found


@pytest.fixture(scope="module")
def without_dbt(distributions: Distributions, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """The wheel and what it needs, by links into the environment that runs the tests."""
    environment = make_environment(tmp_path_factory.mktemp("without") / "venv")
    environment.install("--no-deps", "--no-index", distributions.wheel)
    for one in needed("lakemerge").values():
        for file in one.files or ():
            top = file.parts[0]
            if top not in ("..", "__pycache__") and not (environment.packages / top).exists():
                (environment.packages / top).symlink_to(Path(str(one.locate_file(top))))
    return environment


def test_no_dbt_comes_with_it(without_dbt: Environment) -> None:
    assert not {name for name in needed("lakemerge") if name.startswith("dbt")}
    with pytest.raises(AssertionError, match="No module named"):
        without_dbt.run_python("import dbt.cli")


def test_the_guides_lines_run(without_dbt: Environment, tmp_path: Path) -> None:
    lines = "\n".join(re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL))
    script = tmp_path / "job.py"
    script.write_text(lines)
    out = run([without_dbt.python, script], cwd=tmp_path)
    said = [line for line in out.splitlines() if line.strip()]
    assert said[0] == "2 1"
    assert said[1] == "1 1 1"
    assert [line for line in said if re.match(r"\|\s+\d", line)] == [
        "|         1| lamp|   95|  3|",
        "|         3|chair|   60|  1|",
    ]
    assert said[-2].startswith("2 merge")
    assert said[-1].startswith("1 merge")


def test_the_command_line_says_what_is_missing(without_dbt: Environment) -> None:
    command = without_dbt.python.parent / "lakemerge"
    with pytest.raises(AssertionError, match=r"Expected dbt, .*lakemerge\[dbt\]"):
        run([command, "--version"])
