"""Measures of how the source is built, as a table in Markdown: the working tree's, and those of commits beside them.

docs/structure.md says what counts as what.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import statistics
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from graphlib import TopologicalSorter
from pathlib import Path
from typing import TypeAlias

ROOT = Path(__file__).parents[1]
Graph: TypeAlias = Mapping[str, set[str]]
#: The packages whose folders are rooms: one capability each; tests/unit/test_imports.py checks which may use which.
PACKAGES = ("lakemerge", "lakemerge.kernel", "lakemerge.engine", "dbt.adapters.lakemerge")
#: Python objects in macros, by the names there: the adapter, one attempt to publish, and what it plans.
BORDER = {
    "`adapter`": ("adapter",),
    "`txn`": ("txn",),
    "a plan": ("batch", "history", "merge", "plan", "scd2", "snapshot"),
}
_CLASSES_SHOWN = 3
_OVERRIDE = "lakemerge__"
_CALL = re.compile(r"(?<![\w.])\w+(?=\()|(?<=adapter\.dispatch\(')\w+")
_COMMENT = re.compile(r"\{#.*?#\}", re.DOTALL)
_DEFINITION = re.compile(
    r"\{%-?\s*(?P<kind>macro|materialization|test)\s+(?P<name>\w+)(?P<body>.*?)\{%-?\s*end(?P=kind)\b[^%]*%\}",
    re.DOTALL,
)


# ---- graphs


def reached_from(graph: Graph, start: str) -> set[str]:
    """The nodes that one leads to, in any number of steps; the node itself only if it is in a circle."""
    found: set[str] = set()
    ahead = {start}
    while ahead:
        ahead = {target for node in ahead for target in graph.get(node, ())} - found
        found |= ahead
    return found


def circles(graph: Graph) -> set[frozenset[str]]:
    """Nodes that reach each other: one set for each circle."""
    reached = {node: reached_from(graph, node) for node in graph}
    return {
        frozenset(other for other in reached[node] if node in reached.get(other, ()))
        for node in graph
        if node in reached[node]
    }


def floors(graph: Graph) -> int:
    """The number of nodes on the longest chain; the nodes of a circle share a floor."""
    whole = {node: frozenset([node]) for node in graph}
    whole.update((node, circle) for circle in circles(graph) for node in circle)
    below: dict[frozenset[str], set[frozenset[str]]] = {}
    for node, targets in graph.items():
        below.setdefault(whole[node], set()).update({whole[target] for target in targets} - {whole[node]})
    height: dict[frozenset[str], int] = {}
    for group in TopologicalSorter(below).static_order():
        height[group] = 1 + max((height[target] for target in below[group]), default=0)
    return max(height.values(), default=0)


def edges(graph: Graph) -> int:
    """The number of edges."""
    return sum(map(len, graph.values()))


# ---- Python


@dataclass(frozen=True, order=True)
class Extent:
    """How many lines, or members, something has."""

    size: int
    name: str

    def __str__(self) -> str:
        return f"{self.size} `{self.name}`"


class Sources:
    """The modules below a folder `src`, by their dotted names."""

    def __init__(self, folder: Path) -> None:
        self._paths = {_dotted(path.relative_to(folder)): path for path in sorted(folder.rglob("*.py"))}
        self._trees = {module: ast.parse(path.read_text()) for module, path in self._paths.items()}

    @cached_property
    def imports(self) -> Graph:
        """Which of these modules each one imports, also inside functions and only for types."""
        return {
            module: {name for name in self._named_by_imports(tree) if name in self._paths} - {module}
            for module, tree in self._trees.items()
        }

    def _named_by_imports(self, tree: ast.Module) -> Iterator[str]:
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                inner = (f"{node.module}.{alias.name}" for alias in node.names)
                yield from (name if name in self._paths else node.module for name in inner)

    @property
    def folders(self) -> Counter[str]:
        """How many modules each folder has."""
        return Counter(str(path.parent) for path in self._paths.values())

    def rooms(self, package: str) -> Graph:
        """Which rooms of a package import which; its rooms are its folders and the modules beside them."""

        def room(module: str) -> str:
            outside, _, below = module.partition(f"{package}.")
            return "" if outside else below.partition(".")[0]

        found: dict[str, set[str]] = {}
        for module, imported in self.imports.items():
            if here := room(module):
                found.setdefault(here, set()).update({*map(room, imported)} - {here, ""})
        return found

    @property
    def files(self) -> Iterator[Extent]:
        """Lines of files."""
        return (Extent(path.read_text().count("\n"), path.name) for path in self._paths.values())

    @property
    def classes(self) -> Iterator[Extent]:
        """Lines of classes."""
        return (_lines(node) for node in self._nodes() if isinstance(node, ast.ClassDef))

    @property
    def functions(self) -> Iterator[Extent]:
        """Lines of functions and methods."""
        return (
            _lines(node)
            for node in self._nodes()
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        )

    @property
    def members(self) -> Iterator[Extent]:
        """Public methods, properties and annotated attributes of classes."""
        for node in self._nodes():
            if isinstance(node, ast.ClassDef):
                yield Extent(len(set(_public_members(node))), node.name)

    def _nodes(self) -> Iterator[ast.AST]:
        return (node for tree in self._trees.values() for node in ast.walk(tree))


def _dotted(path: Path) -> str:
    return ".".join(path.parent.parts if path.name == "__init__.py" else path.with_suffix("").parts)


def _lines(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> Extent:
    return Extent((node.end_lineno or node.lineno) - node.lineno + 1, node.name)


def _public_members(node: ast.ClassDef) -> Iterator[str]:
    for member in node.body:
        name = ""
        if isinstance(member, (ast.FunctionDef, ast.AsyncFunctionDef)):
            name = member.name
        elif isinstance(member, ast.AnnAssign) and isinstance(member.target, ast.Name):
            name = member.target.id
        if name and not name.startswith("_"):
            yield name


# ---- macros


class Macros:
    """The macros below a folder, with materializations and generic tests, whose names include their kind."""

    def __init__(self, folder: Path) -> None:
        texts = [path.read_text() for path in sorted(folder.rglob("*.sql"))]
        #: The number of lines of each file.
        self.lines = [text.count("\n") for text in texts]
        self._code = [_COMMENT.sub("", text) for text in texts]
        self._bodies = {
            f"{found['kind']} {found['name']}".removeprefix("macro "): found["body"]
            for text in self._code
            for found in _DEFINITION.finditer(text)
        }

    def __len__(self) -> int:
        return len(self._bodies)

    @property
    def own(self) -> set[str]:
        """The macros that do not override one of dbt's."""
        return {name for name in self._bodies if not name.startswith(_OVERRIDE)}

    @cached_property
    def calls(self) -> dict[str, Counter[str]]:
        """How often each macro names which others; an override is called by the name of what it overrides."""
        by_name = {name.removeprefix(_OVERRIDE): name for name in self._bodies} | {
            name: name for name in self._bodies
        }
        return {
            caller: Counter(by_name[word] for word in _CALL.findall(body) if word in by_name)
            for caller, body in self._bodies.items()
        }

    @property
    def called_once(self) -> set[str]:
        """Own macros that only one place calls."""
        places = sum(self.calls.values(), Counter[str]())
        return {name for name in self.own if places[name] == 1}

    def reach(self, name: str) -> tuple[int, int]:
        """How many macros one leads to, and how many are on its longest chain of calls."""
        graph = {caller: {*called} - {caller} for caller, called in self.calls.items()}
        reached = reached_from(graph, name)
        return len(reached), floors({one: graph.get(one, set()) for one in (name, *reached)})

    def uses(self, names: Sequence[str]) -> tuple[int, int]:
        """How often members of objects of these names are used, and how many different ones."""
        found = Counter(re.findall(rf"(?<![\w.])(?:{'|'.join(names)})\.\w+", " ".join(self._code)))
        return found.total(), len(found)


# ---- the table


def measures(root: Path) -> dict[str, str]:
    """The figures of a tree that has `src` and `macros`, by what each measures."""
    return {name: str(value) for name, value in (*_of_python(root / "src"), *_of_macros(root / "macros"))}


def _of_python(folder: Path) -> Iterator[tuple[str, object]]:
    sources = Sources(folder)
    yield "modules", sources.folders.total()
    yield "folders of modules", len(sources.folders)
    yield "most modules in one folder", max(sources.folders.values())
    yield "imports among modules", edges(sources.imports)
    yield "floors of modules", floors(sources.imports)
    yield "circles of modules", len(circles(sources.imports))
    for package in PACKAGES:
        rooms = sources.rooms(package)
        yield f"`{package}`: rooms", len(rooms)
        yield f"`{package}`: imports among rooms", edges(rooms)
        yield f"`{package}`: floors", floors(rooms)
        yield f"`{package}`: circles", len(circles(rooms))
    yield "longest file", max(sources.files)
    yield "longest class", max(sources.classes)
    yield "longest function", max(sources.functions)
    yield "most public members", ", ".join(map(str, sorted(sources.members, reverse=True)[:_CLASSES_SHOWN]))


def _of_macros(folder: Path) -> Iterator[tuple[str, object]]:
    macros = Macros(folder)
    yield "macros", len(macros)
    yield "macros that override none of dbt's", len(macros.own)
    yield "of these, called from one place", len(macros.called_once)
    yield "lines of a macro file, median", f"{statistics.median(macros.lines):g}"
    yield (
        "lines of a macro file, p90",
        f"{statistics.quantiles(macros.lines, n=10, method='inclusive')[-1]:g}",
    )
    for what, names in BORDER.items():
        places, members = macros.uses(names)
        yield f"uses of {what} in macros", places
        yield f"members of {what} that macros use", members
    reached, deep = macros.reach("materialization incremental")
    yield "macros that `incremental` reaches", reached
    yield "macros on its longest chain of calls", deep


def table(columns: Mapping[str, Mapping[str, str]]) -> str:
    """The figures of several trees beside each other, in Markdown."""
    rows = [["", *columns], ["---"] * (1 + len(columns))]
    rows += [
        [name, *(figures[name] for figures in columns.values())] for name in next(iter(columns.values()))
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def measures_of_commit(ref: str) -> dict[str, str]:
    """The figures of a commit, from a copy of its files in a folder that is gone afterwards."""
    git = ["git", "-C", str(ROOT), "archive", ref, "src", "macros"]
    packed = subprocess.run(git, capture_output=True, check=True).stdout
    with tempfile.TemporaryDirectory() as folder, tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder)
        return measures(Path(folder))


def main(arguments: Sequence[str]) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("refs", nargs="*", help="commits to show beside the working tree, the oldest first")
    commits = {ref: measures_of_commit(ref) for ref in parser.parse_args(arguments).refs}
    print(table({**commits, "now": measures(ROOT)}))


if __name__ == "__main__":
    main(sys.argv[1:])
