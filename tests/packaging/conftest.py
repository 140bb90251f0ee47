"""The built distributions, and an environment that has the wheel."""

from __future__ import annotations

import sys
import sysconfig

import pytest
from environments import REPOSITORY, Distributions, Environment, make_environment, run


@pytest.fixture(scope="session")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Distributions:
    folder = tmp_path_factory.mktemp("dist")
    run([sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, REPOSITORY])
    (sdist,) = folder.glob("*.tar.gz")
    (wheel,) = folder.glob("*.whl")
    return Distributions(sdist, wheel)


@pytest.fixture(scope="session")
def wheel_environment(distributions: Distributions, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """The wheel alone in a new environment, over the dependencies of the one that runs the tests.

    The path file adds those as a plain folder, in which the editable install's own path file is not read.
    """
    environment = make_environment(tmp_path_factory.mktemp("wheel") / "venv")
    environment.install("--no-deps", "--no-index", distributions.wheel)
    dependencies = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    (environment.packages / "dependencies.pth").write_text("\n".join(sorted(dependencies)))
    return environment
