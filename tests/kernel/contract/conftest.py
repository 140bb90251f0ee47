"""What is true of commits wherever they are made: in memory in the fast ring, and in the slow one on a JVM too.

So these tests need no JVM, and :mod:`simulation.planting` has them look for mutants.
"""

from __future__ import annotations

import pytest

from kernel.sites import InMemory, OfJvm, Site
from lakemerge.kernel import Kernel, Settings


@pytest.fixture(params=["memory", pytest.param("jvm", marks=pytest.mark.slow)])
def site(request: pytest.FixtureRequest) -> Site:
    return InMemory() if request.param == "memory" else OfJvm(request.getfixturevalue(request.param))


@pytest.fixture
def kernel(site: Site) -> Kernel:
    return Kernel(site.ports(), Settings(claim_timeout=10))
