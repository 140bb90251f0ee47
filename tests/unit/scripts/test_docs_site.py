"""The documents as a site: built as `make docs` does, and links on their way from the repository into it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from docs_site import PAGES, links_in_site

ROOT = Path(__file__).parents[3]


def build(site: Path, root: Path = ROOT) -> subprocess.CompletedProcess[str]:
    mkdocs = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(site)]
    return subprocess.run(mkdocs, capture_output=True, check=False, cwd=root, text=True, timeout=120)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    built = build(folder)
    assert built.returncode == 0, built.stderr
    return folder


def test_the_search_finds_every_page(site: Path) -> None:
    found = {
        entry["location"] for entry in json.loads((site / "search/search_index.json").read_text())["docs"]
    }
    pages = {path.parent.relative_to(site).as_posix() + "/" for path in site.rglob("index.html")} - {"./"}
    assert {"contributing/", "changelog/", "documents/", "flow/", "flow/table/", "decisions/"} <= pages
    assert pages | {""} <= found


def test_no_page_is_drawn_with_files_of_another_host(site: Path) -> None:
    loaded = re.compile(r"""<(?:script|img|iframe)[^>]*src="?(https?:)?//|<link[^>]*href="?https?://""")
    assert [path.name for path in site.rglob("*.html") if loaded.search(path.read_text())] == []


def test_diagrams_are_left_to_mermaid(site: Path) -> None:
    assert '<pre class="mermaid">' in (site / "index.html").read_text()
    for flow in (ROOT / "docs" / "flow").glob("*.md"):
        diagrams = flow.read_text().count("```mermaid")
        page = site / "flow" / ("" if flow.stem == "README" else flow.stem) / "index.html"
        assert page.read_text().count('<pre class="mermaid">') == diagrams


def test_a_link_to_nowhere_ends_the_build(tmp_path: Path) -> None:
    for folder in ("docs", "scripts"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    for name in ("mkdocs.yml", *(name for name in PAGES if "/" not in name)):
        shutil.copy(ROOT / name, tmp_path)
    page = tmp_path / "docs" / "guides" / "merge.md"
    page.write_text(f"{page.read_text()}\n[1](gone.md) [2](merge.md#gone) [3](../../src/gone.py)\n")
    built = build(tmp_path / "build" / "site", tmp_path)
    assert built.returncode == 1
    assert "'gone.md'" in built.stderr
    assert "'merge.md#gone'" in built.stderr
    assert "'../../src/gone.py'" in built.stderr


@pytest.mark.parametrize(
    ("source", "link", "in_site"),
    [
        ("README.md", "docs/guides/merge.md#files", "guides/merge.md#files"),
        ("README.md", "docs/README.md", "documents.md"),
        ("CONTRIBUTING.md", "README.md", "index.md"),
        ("docs/README.md", "../CONTRIBUTING.md#tests", "contributing.md#tests"),
        ("docs/guides/merge.md", "../../README.md", "../index.md"),
        ("docs/guides/merge.md", "../README.md", "../documents.md"),
        ("docs/guides/merge.md", "history.md", "history.md"),
        ("docs/flow/table.md", "README.md", "README.md"),
        ("docs/guides/merge.md", "#files", "#files"),
        ("docs/guides/merge.md", "https://example.org/README.md", "https://example.org/README.md"),
    ],
)
def test_a_link_leads_to_the_same_page_in_the_site(source: str, link: str, in_site: str) -> None:
    assert links_in_site(f"A [word]({link}).", source) == f"A [word]({in_site})."


def test_links_in_code_are_left_alone() -> None:
    text = "`[a](README.md)`\n\n```\n[a](README.md)\n```\n"
    assert links_in_site(text, "CONTRIBUTING.md") == text
