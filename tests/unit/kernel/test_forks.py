"""Processes that are forked while a transaction is open."""

from __future__ import annotations

import dataclasses
import os

import pytest

from lakemerge.kernel.ports import SystemHost
from lakemerge.kernel.protocol.lease import Heartbeats
from lakemerge.kernel.table.layout import Layout
from lakemerge.testing import SimulatedClock, World

LAYOUT = Layout("memory:/t")


def test_a_child_has_no_open_transactions_of_its_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    host = SystemHost()
    host.open_here.add("parents")
    try:
        monkeypatch.setattr(os, "getpid", lambda: 99_999_999)
        assert "parents" not in host.open_here
        host.open_here.add("childs")
        monkeypatch.undo()
        assert "childs" not in SystemHost().open_here
        assert "parents" in SystemHost().open_here
    finally:
        host.open_here.discard("parents")


class Clock(SimulatedClock):
    """Counts the threads that it has begun."""

    begun = 0

    def repeat(self, seconds: float, action: object, name: str) -> None:
        self.begun += 1


def test_a_child_keeps_its_own_transactions_alive_and_not_its_parents(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Threads do not come along with a fork."""
    clock = Clock(world.timeline)
    ports = dataclasses.replace(world.process(), host=SystemHost(), clock=clock)
    heartbeats = Heartbeats(ports, 30)
    heartbeats.start(LAYOUT, "parents")
    try:
        assert clock.begun == 1
        monkeypatch.setattr(os, "getpid", lambda: 99_999_999)
        heartbeats.start(LAYOUT, "childs")
        assert clock.begun == 2
        assert set(heartbeats._open) == {LAYOUT.heartbeat_of("childs")}
        heartbeats.stop(LAYOUT, "childs")
    finally:
        monkeypatch.undo()
        SystemHost().open_here.discard("parents")
