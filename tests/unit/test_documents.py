"""The documents: links lead somewhere, and code in them can be read by what it is for."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
DOCUMENTS = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    ROOT / "SECURITY.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
_FENCE = re.compile(r"^( *)```(\w*)[^\n`]*\n(.*?)^\1```", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def without_code(text: str) -> str:
    return re.sub(r"`[^`\n]*`", "", _FENCE.sub("", text))


def anchors_of(path: Path) -> set[str]:
    """The anchors that Git hosts give to headings."""
    found: dict[str, int] = {}
    for heading in re.findall(r"^#+ +(.+?) *$", _FENCE.sub("", path.read_text()), re.MULTILINE):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        slug = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
        found[slug] = found.get(slug, -1) + 1
        if found[slug]:
            found[f"{slug}-{found[slug]}"] = 0
    return set(found)


def broken_links(path: Path) -> Iterator[str]:
    for link in _LINK.findall(without_code(path.read_text())):
        target, _, anchor = link.partition("#")
        if "://" in target or target.startswith("mailto:"):
            continue
        there = (path.parent / target).resolve() if target else path
        if not there.exists() or (anchor and there.suffix == ".md" and anchor not in anchors_of(there)):
            yield link


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path: Path) -> None:
    assert list(broken_links(path)) == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_code_can_be_read(path: Path) -> None:
    readers: dict[str, Callable[[str], object]] = {
        "python": ast.parse,
        "json": json.loads,
        "yaml": yaml.safe_load,
        "yml": yaml.safe_load,
    }
    for _, language, code in _FENCE.findall(path.read_text()):
        if language in readers:
            readers[language](code)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_site_shows_what_a_git_host_shows(path: Path) -> None:
    text = path.read_text()
    assert re.findall(r"^ {1,3}(?:[-*]|\d+\.) .*", _FENCE.sub("", text), re.MULTILINE) == [], "indent by four"
    diagrams = [code for _, language, code in _FENCE.findall(text) if language == "mermaid"]
    states = "\n".join(code for code in diagrams if code.startswith("stateDiagram"))
    assert re.findall(r"^.*-->[^:\n]*:.*:.*", states, re.MULTILINE) == [], "Mermaid stops at the second colon"


def test_decisions_are_listed_and_each_number_without_one_is_explained() -> None:
    folder = ROOT / "docs" / "decisions"
    listing = (folder / "README.md").read_text()
    pages = {int(path.name[:4]): path.name for path in folder.glob("0*.md")}
    listed = re.findall(r"^\| (\d+) \| \[.+\]\((.+)\) \|$", listing, re.MULTILINE)
    assert [(int(number), name) for number, name in listed] == sorted(pages.items())
    explained = re.search(r"The numbers ([\d, and]+) were set aside", listing)
    assert explained
    missing = set(range(1, max(pages) + 1)) - pages.keys()
    assert {*map(int, re.findall(r"\d+", explained[1]))} == missing


def test_a_broken_link_is_seen(tmp_path: Path) -> None:
    (tmp_path / "there.md").write_text("# What it is: a *guide*\n")
    here = tmp_path / "here.md"
    here.write_text(
        "[1](there.md#what-it-is-a-guide) [2](there.md#what-it-was) [3](gone.md) [4](#here) `[5](gone)`\n\n# Here\n"
    )
    assert list(broken_links(here)) == ["there.md#what-it-was", "gone.md"]
