"""Macros without dbt: the same SQL as with dbt's own Jinja, and no dbt in the process."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lakemerge import errors
from lakemerge.engine.packaged_macros import PackagedMacros, packaged_macros
from lakemerge.engine.relations.conditions import all_of
from lakemerge.engine.sql_text import literal
from render_macros import Macros

ROOT = Path(__file__).parents[3]
ENGINE = ROOT / "src" / "lakemerge" / "engine"
#: What nodes of dbt alone render: the time range of a batch, and snapshots, whose macros call dbt's own.
OF_NODES = ("batch_range", "snapshots")
CALLED = sorted(
    name
    for path in ENGINE.rglob("*.py")
    for name in set(re.findall(r"macros\.(lakemerge_\w+)", path.read_text()))
    if not any(part in str(packaged_macros().files[name]) for part in OF_NODES)
)


@pytest.fixture(scope="module")
def with_dbt() -> Macros:
    macros = Macros(ROOT / "macros")
    adapter: Any = macros._adapter
    adapter.string_literal, adapter.all_of = literal, all_of  # as the real adapter's
    return macros


@pytest.fixture(scope="module")
def documented(with_dbt: Macros) -> dict[str, Any]:
    return with_dbt.described()


@pytest.mark.parametrize("name", CALLED)
def test_the_text_is_that_of_dbts_jinja(name: str, with_dbt: Macros, documented: dict[str, Any]) -> None:
    samples = list(documented[name].samples())
    assert samples
    for sample in samples:
        assert getattr(packaged_macros(), name)(**sample) == with_dbt.call(name, sample)


def test_a_macro_that_is_not_there_is_named() -> None:
    with pytest.raises(AttributeError, match="no macro lakemerge_nothing"):
        packaged_macros().lakemerge_nothing()


def test_there_are_no_variables() -> None:
    assert packaged_macros().variable("lakemerge_compact", "auto") == "auto"


def test_a_macro_refuses_by_a_typed_error() -> None:
    adapter: Any = PackagedMacros()._environment.globals["adapter"]
    with pytest.raises(errors.InvalidConfig, match="Expected a; found b"):
        adapter.raise_typed("InvalidConfig", "a", "b", "c")


def test_the_engine_is_imported_without_dbt() -> None:
    modules = [
        ".".join(path.relative_to(ROOT / "src").with_suffix("").parts).removesuffix(".__init__")
        for path in sorted(ENGINE.rglob("*.py"))
    ]
    code = f"""
import importlib, sys
class NoDbt:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("dbt", "dbt_common", "agate"):
            raise ImportError(f"dbt is not here: {{name}}")
sys.meta_path.insert(0, NoDbt())
for name in {modules!r}:
    importlib.import_module(name)
from lakemerge.engine.packaged_macros import packaged_macros
assert packaged_macros().files
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
