"""Side data of commits that came between: added, replaced, or folded together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import pytest

from lakemerge.kernel import Manifest
from lakemerge.kernel.properties import Sidecars, replaced_meanwhile, united_sidecars

Mode = Literal["add", "set", "fold"]


def manifest(*folders: str) -> Manifest:
    sidecars: Mapping[str, tuple[str, ...]] = {"kind": folders}
    return Manifest(
        "t", 1, None, "i", "append", (), (), "orc", {}, (), (), "2026-01-01T00:00:00+00:00", sidecars=sidecars
    )


def mine(mode: Mode) -> Sidecars:
    return {"kind": (["mine"], mode)}


@pytest.mark.parametrize(
    ("mode", "parent", "united"),
    [
        ("add", ("a", "b"), ("a", "b", "mine")),
        ("add", ("a", "b", "later"), ("a", "b", "later", "mine")),
        ("set", ("a", "b"), ("mine",)),
        ("fold", ("a", "b"), ("mine",)),
        ("fold", ("a", "b", "later"), ("mine", "later")),
    ],
)
def test_what_comes_together(mode: Mode, parent: tuple[str, ...], united: tuple[str, ...]) -> None:
    base = manifest("a", "b")
    assert replaced_meanwhile(mine(mode), base, manifest(*parent)) == ""
    assert united_sidecars(mine(mode), base, manifest(*parent))["kind"] == united


@pytest.mark.parametrize(
    ("mode", "parent"), [("set", ("a", "b", "later")), ("set", ("x",)), ("fold", ("x", "later"))]
)
def test_what_another_commit_has_replaced(mode: Mode, parent: tuple[str, ...]) -> None:
    assert replaced_meanwhile(mine(mode), manifest("a", "b"), manifest(*parent)) == "kind"


@pytest.mark.parametrize("mode", ["add", "set", "fold"])
def test_a_table_that_is_made_or_replaced_has_only_mine(mode: Mode) -> None:
    for base in (None, manifest("a")):
        assert replaced_meanwhile(mine(mode), base, None) == ""
        assert united_sidecars(mine(mode), base, None) == {"kind": ("mine",)}
