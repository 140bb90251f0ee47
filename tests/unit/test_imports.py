"""Who imports whom: no circles, and the kernel by its front doors alone."""

from __future__ import annotations

import ast
import graphlib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src"
#: What the kernel offers, and the outside world that it works on, for who puts another in its place.
DOORS = ("lakemerge.kernel", "lakemerge.kernel.ports")


def module_of(path: Path) -> str:
    parts = path.relative_to(SOURCES).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(path): path for path in SOURCES.rglob("*.py")}


def imports_of(path: Path) -> Iterator[str]:
    """The modules that a file imports, inside of functions and for types alone too."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in MODULES else node.module


def test_modules_do_not_import_each_other_in_circles() -> None:
    ours = {
        module: {name for name in imports_of(path) if name in MODULES} for module, path in MODULES.items()
    }
    graphlib.TopologicalSorter(ours).prepare()


@pytest.mark.parametrize("folder", ["src", "benchmarks", "scripts"])
def test_the_kernel_is_entered_by_its_front_doors(folder: str) -> None:
    behind = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in (ROOT / folder).rglob("*.py")
        if SOURCES / "lakemerge" / "kernel" not in path.parents
        for name in imports_of(path)
        if name.startswith("lakemerge.kernel.") and name not in DOORS
    }
    assert not behind, "import it from lakemerge.kernel, which says what the kernel offers"
