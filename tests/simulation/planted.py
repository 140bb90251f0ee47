"""Mutants that are planted by rule: each `if` and each `raise` of the code that commits is left out in turn.

A *site* is such a statement. The condition of an `if` is evaluated all the same, so that names which it binds are
there; its answer is then always no, or always yes.

The libraries there are (cosmic-ray, mutmut) write mutants into files of a tree, and run pytest: neither leaves out a
guard, nor drives seeds. Here a forked process has its functions' code replaced, and runs what reaches the place.
"""

from __future__ import annotations

import ast
import gc
import importlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType

SOURCES = Path(__file__).parents[2] / "src" / "lakemerge"
FOLDERS = (
    "kernel/protocol",
    "kernel/commit",
    "kernel/maintenance",
    "kernel/external",
    "consumer",
    "writer",
)
_LEAVES = (ast.Raise, ast.Return, ast.Continue, ast.Break)
#: Records that a site's condition had a value; ``None`` for a `raise`.
Reached = Callable[[str, "bool | None"], None]


@dataclass(frozen=True)
class Planted:
    """A mutant.

    Attributes:
        module: below ``lakemerge``, with dots.
        line: the site's, from 1; there is one `if` or `raise` that begins there.
        answer: what the condition always answers; ``None`` where a `raise` is left out.
        text: the statement's first line.
        number: of the module's sites that begin alike, from 1.
    """

    module: str
    line: int
    answer: bool | None
    text: str
    number: int = 1

    @property
    def site(self) -> str:
        """Where it is, whatever is changed above it: ``kernel.commit.reads: if found: 2``."""
        return f"{self.module}: {self.text} {self.number}"

    @property
    def kind(self) -> str:
        """What is done to the site."""
        return "out" if self.answer is None else "always" if self.answer else "never"

    @property
    def name(self) -> str:
        """The site and what is done to it, for people: ``kernel.commit.reads:12 never``."""
        return f"{self.module}:{self.line} {self.kind}"

    @property
    def needs(self) -> bool | None:
        """The value that the condition must have somewhere for the mutant to matter."""
        return None if self.answer is None else not self.answer


def modules() -> Iterator[tuple[str, Path]]:
    """The modules in which mutants are planted, and their files."""
    for folder in FOLDERS:
        for path in sorted((SOURCES / folder).glob("*.py")):
            if path.name != "__init__.py":
                yield f"{folder}/{path.stem}".replace("/", "."), path


def mutants_of(module: str, text: str) -> Iterator[Planted]:
    """The mutants of a module's text, in order."""
    lines = text.splitlines()
    covered: set[int] = set()  # raises that leave with their `if`
    alike: Counter[str] = Counter()
    for node in sorted(_sites_of(text), key=lambda one: one.lineno):
        shown = lines[node.lineno - 1].strip()
        alike[shown] += 1
        if isinstance(node, ast.If):
            yield Planted(module, node.lineno, False, shown, alike[shown])
            only_leaves = not node.orelse and isinstance(node.body[-1], _LEAVES)
            if not only_leaves:  # then all that follows would be left out
                yield Planted(module, node.lineno, True, shown, alike[shown])
            if len(node.body) == 1 and isinstance(node.body[0], ast.Raise):
                covered.add(node.body[0].lineno)
        elif node.lineno not in covered:
            yield Planted(module, node.lineno, None, shown, alike[shown])


def _sites_of(text: str) -> Iterator[ast.If | ast.Raise]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Raise) or (
            isinstance(node, ast.If) and ast.unparse(node.test) != "TYPE_CHECKING"
        ):
            yield node


def all_mutants() -> list[Planted]:
    """The mutants of today's code."""
    found = [one for module, path in modules() for one in mutants_of(module, path.read_text())]
    return sorted(found, key=lambda one: (one.module, one.line, str(one.answer)))


class _Plant(ast.NodeTransformer):
    """Plants one mutant."""

    def __init__(self, mutant: Planted) -> None:
        self._mutant = mutant

    def visit_If(self, node: ast.If) -> ast.AST:
        self.generic_visit(node)
        if node.lineno == self._mutant.line and self._mutant.answer is not None:
            pair = ast.Tuple([node.test, ast.Constant(self._mutant.answer)], ast.Load())
            node.test = ast.Subscript(pair, ast.Constant(1), ast.Load())
        return node

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        if node.lineno == self._mutant.line and self._mutant.answer is None:
            return ast.Pass()
        return node


class _Note(ast.NodeTransformer):
    """Lets each site tell that it was reached."""

    def __init__(self, sites: Mapping[int, str]) -> None:
        self._sites = sites

    def _call(self, line: int, value: ast.expr) -> ast.Call:
        where = ast.Constant(self._sites.get(line, ""))
        return ast.Call(ast.Name("__reached__", ast.Load()), [where, value], [])

    def visit_If(self, node: ast.If) -> ast.AST:
        self.generic_visit(node)
        node.test = self._call(node.lineno, node.test)
        return node

    def visit_Raise(self, node: ast.Raise) -> ast.AST | list[ast.AST]:
        return [ast.Expr(self._call(node.lineno, ast.Constant(None))), node]


class Functions:
    """The functions of the modules, wherever they are by now, found once."""

    def __init__(self) -> None:
        self._origins = {
            module: str(importlib.import_module(f"lakemerge.{module}").__file__) for module, _ in modules()
        }
        found = [one for one in gc.get_objects() if isinstance(one, FunctionType)]
        self._of = {
            origin: [one for one in found if one.__code__.co_filename == origin]
            for origin in self._origins.values()
        }

    def recode(self, module: str, change: ast.NodeTransformer) -> None:
        """Give the functions of a module the code of its changed text."""
        origin = self._origins[module]
        tree = ast.fix_missing_locations(change.visit(ast.parse(Path(origin).read_text())))
        codes = {_place(code): code for code in _codes(compile(tree, origin, "exec"))}
        for one in self._of[origin]:
            one.__code__ = codes[_place(one.__code__)]


def _codes(code: CodeType) -> Iterator[CodeType]:
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield one
            yield from _codes(one)


def _place(code: CodeType) -> tuple[str, int]:
    return code.co_name, code.co_firstlineno


def plant(mutant: Planted, functions: Functions | None = None) -> None:
    """Put a mutant into the code of this process."""
    (functions or Functions()).recode(mutant.module, _Plant(mutant))


def note(reached: Reached) -> None:
    """Let all sites tell when they are reached."""
    mutants, functions = all_mutants(), Functions()
    raises = {one.site for one in mutants if one.answer is None}

    def told(site: str, value: object) -> object:
        reached(site, None if site in raises else bool(value))
        return value

    for module, _ in modules():
        importlib.import_module(f"lakemerge.{module}").__dict__["__reached__"] = told
        sites = {one.line: one.site for one in mutants if one.module == module}
        functions.recode(module, _Note(sites))
