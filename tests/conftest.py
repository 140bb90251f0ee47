"""Markers and the report header. Fixtures live in the conftest.py of each ring's own folder."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import py4j.java_gateway
import py4j.protocol
import pytest
from hypothesis import settings

from engines.metastores import METASTORES
from engines.services import CLUSTERS, FILES

_KERNEL = Path(__file__).parent / "kernel"

# Machines are busy: how long an example takes says nothing.
settings.register_profile("lakemerge", deadline=None)
settings.load_profile("lakemerge")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "slow: takes minutes or needs downloads; run by make test-all")
    config.addinivalue_line("markers", "fast(*names): tests of one of dbt's classes, whose others are slow")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark as slow what a class of dbt's has besides the tests that are named as fast.

    The tests stand in dbt's class: ours would have to override them to mark them one by one.
    """
    for item in items:
        fast = item.get_closest_marker("fast")
        if fast is None or not isinstance(item, pytest.Function):
            continue
        if unknown := [name for name in fast.args if not hasattr(item.cls, name)]:
            raise pytest.UsageError(f"{item.nodeid}: dbt's class has no {', '.join(unknown)}")
        if item.originalname not in fast.args:
            item.add_marker(pytest.mark.slow)
    # A module of kills is one scope, of many minutes: at the end, one process would be left with it.
    items.sort(key=lambda item: not item.path.is_relative_to(_KERNEL))
    _keep_part(config, items)


def _keep_part(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the tests of ``--part``.

    Files stay whole, for their tests share what they start; each part has some of each
    folder, for folders take a second or half an hour.
    """
    number, parts = map(int, config.getoption("--part").split("/"))
    files = {path: place for place, path in enumerate(dict.fromkeys(item.path for item in items))}
    others = [item for item in items if files[item.path] % parts != number % parts]
    config.hook.pytest_deselected(items=others)
    items[:] = [item for item in items if files[item.path] % parts == number % parts]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--adapter",
        choices=("lakemerge", "spark"),
        default="lakemerge",
        help="adapter that dbt's official suites run on",
    )
    parser.addoption(
        "--compiled",
        action="store_true",
        help="let Spark compile the queries of all functional tests, not only of those that ask for it",
    )
    parser.addoption("--part", default="1/1", help="a part of the tests, such as 1/4")
    parser.addoption(
        "--publish",
        choices=("at_once", "after_tests"),
        default="at_once",
        help="when the nodes of dbt's official suites are published, where they do not say so themselves",
    )
    parser.addoption(
        "--metastore",
        choices=METASTORES,
        default="derby",
        help="the metastore process, by its database or release, that the tests of the kernel and of the cluster use",
    )
    parser.addoption(
        "--files",
        choices=FILES,
        default="local",
        help="file system of the tables that the tests of the kernel and of the cluster make",
    )
    parser.addoption(
        "--reads", type=int, default=100, help="how often each engine reads each kind of table beside commits"
    )
    parser.addoption(
        "--spark",
        choices=CLUSTERS,
        default=CLUSTERS[0],
        help="the cluster that the example runs on where --files or --metastore ask for one",
    )


def pytest_report_header(config: pytest.Config) -> str:
    versions = [f"{name} {version(name)}" for name in ("lakemerge", "dbt-core", "dbt-spark", "pyspark")]
    return "versions: " + ", ".join(versions)


@pytest.fixture
def bare_gateway(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests with a JVM of their own: the errors of its calls as py4j raises them.

    pyspark puts a function of its own in py4j's place as soon as a Spark session starts in the process. It asks
    Spark's JVM what a Java exception is, also when the exception is another JVM's.
    """
    monkeypatch.setattr(py4j.java_gateway, "get_return_value", py4j.protocol.get_return_value)
