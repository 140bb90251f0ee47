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


def rooms_of(package: str) -> dict[str, set[str]]:
    """What the folders of a package, and the modules beside them, import of each other."""

    def room(module: str) -> str | None:
        inside, _, below = module.partition(f"{package}.")
        return below.partition(".")[0] if not inside and below else None

    found: dict[str, set[str]] = {}
    for module, path in MODULES.items():
        if here := room(module):
            found.setdefault(here, set()).update(filter(None, map(room, imports_of(path))))
            found[here].discard(here)
    return found


@pytest.mark.parametrize("package", ["lakemerge", "lakemerge.kernel", "dbt.adapters.lakemerge"])
def test_rooms_do_not_import_each_other_in_circles(package: str) -> None:
    graphlib.TopologicalSorter(rooms_of(package)).prepare()


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
