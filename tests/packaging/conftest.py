"""The built distributions, and an environment that has the wheel."""

from __future__ import annotations

import sys

import pytest
from environments import REPOSITORY, Distributions, Environment, link_dependencies, make_environment, run


@pytest.fixture(scope="session")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Distributions:
    folder = tmp_path_factory.mktemp("dist")
    run([sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, REPOSITORY])
    (sdist,) = folder.glob("*.tar.gz")
    (wheel,) = folder.glob("*.whl")
    return Distributions(sdist, wheel)


@pytest.fixture(scope="session")
def wheel_environment(distributions: Distributions, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """The wheel alone in a new environment, over the dependencies of the one that runs the tests."""
    environment = make_environment(tmp_path_factory.mktemp("wheel") / "venv")
    environment.install("--no-deps", "--no-index", distributions.wheel)
    link_dependencies(environment)
    return environment
