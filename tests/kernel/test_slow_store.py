"""Commits on an object store that refuses requests and is slow: `make test-cluster PART=kernel-on-s3`."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from engines.s3 import S3
from kernel.commits import EVERY
from kernel.recovery import check_recovery
from kernel.support import picture
from lakemerge.kernel import Jvm, Kernel, Settings, TableName, ports_of

_OUTAGE_SECONDS = 3


@pytest.fixture
def store(storage: object) -> S3:
    if not isinstance(storage, S3):
        pytest.skip("runs with --files s3")
    return storage


def expected(kernel: Kernel, kind: str, name: TableName) -> Any:
    """A table before and after a commit that nothing disturbs."""
    name = TableName(name.schema, f"undisturbed_{name.name}")
    EVERY[kind].prepare(kernel, name)
    before = picture(kernel, name)
    EVERY[kind].run(kernel, name)
    return before, picture(kernel, name)


@pytest.mark.parametrize("kind", ["create", "swap", "append", "rebuild", "delta", "ingest", "vacuum"])
def test_a_commit_ends_as_ever_where_each_fourth_request_is_refused(
    kind: str, store: S3, kernel: Kernel, name: TableName
) -> None:
    pictures = expected(kernel, kind, name)
    EVERY[kind].prepare(kernel, name)
    refused = store.refusals()
    with store.failing(every=4, seconds=0.01):
        EVERY[kind].run(kernel, name)
    assert store.refusals() > refused
    check_recovery(kernel, name, pictures, claimed=True)


@pytest.mark.parametrize("step", ["manifest written", "claimed", "swapped"])
def test_a_commit_outlasts_a_store_that_refuses_all_for_some_seconds(
    step: str, store: S3, jvm: Jvm, kernel: Kernel, name: TableName
) -> None:
    pictures = expected(kernel, "swap", name)
    EVERY["swap"].prepare(kernel, name)
    ends: list[threading.Timer] = []
    outage = store.failing(every=1)

    def begin(reached: str) -> None:
        if reached == step:
            outage.__enter__()
            ends.append(threading.Timer(_OUTAGE_SECONDS, outage.__exit__, (None, None, None)))
            ends[0].start()

    refused = store.refusals()
    EVERY["swap"].run(Kernel(ports_of(jvm), Settings(claim_timeout=10), step=begin), name)
    ends[0].join()
    assert store.refusals() > refused
    check_recovery(kernel, name, pictures, claimed=True)
