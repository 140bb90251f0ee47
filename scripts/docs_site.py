"""A hook of mkdocs: pages that lie outside docs/, and links that hold on a Git host as well as in the site."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
#: Pages of the site by their path in the repository, for files whose page is not at the same path as below docs/.
PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
    "LICENSE": "LICENSE",
    "docs/README.md": "documents.md",
}
#: What `make docs-offline` fetches. The theme loads Mermaid from a CDN if no script of the site has brought it.
MERMAID = ROOT / "build" / "mermaid.min.js"
_LINK = re.compile(r"(?<=\]\()(?!\w+:|#)([^)\s#]+)")
_CODE = re.compile(r"^( *```).*?^\1|`[^`\n]*`", re.MULTILINE | re.DOTALL)


def on_config(config: MkDocsConfig) -> None:
    """Replace a folder in the navigation by its pages."""
    config.nav = [_expanded(entry) for entry in config.nav or []]
    if MERMAID.exists():
        config.extra_javascript.append("assets/mermaid.min.js")


def on_files(files: Files, config: MkDocsConfig) -> None:
    """The pages from outside docs/, and Mermaid if it was fetched."""
    files.remove(_file_of(files, "README.md"))
    for source, page in PAGES.items():
        files.append(File.generated(config, page, abs_src_path=str(ROOT / source)))
    if MERMAID.exists():
        files.append(File.generated(config, "assets/mermaid.min.js", abs_src_path=str(MERMAID)))


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """The page with its links changed from the repository's paths to the site's."""
    here = page.file.src_uri
    in_repository = next((source for source, uri in PAGES.items() if uri == here), f"docs/{here}")
    return links_in_site(markdown, in_repository)


def links_in_site(markdown: str, source: str) -> str:
    """A text with its links changed to the site's paths; code is left alone.

    Args:
        markdown: the text.
        source: its path in the repository, such as `docs/guides/merge.md`.
    """
    here = posixpath.dirname(page_of(source))

    def turned(match: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(source), match[1]))
        return posixpath.relpath(page_of(target), here or ".")

    parts, end = [], 0
    for code in _CODE.finditer(markdown):
        parts += [_LINK.sub(turned, markdown[end : code.start()]), code[0]]
        end = code.end()
    return "".join([*parts, _LINK.sub(turned, markdown[end:])])


def page_of(source: str) -> str:
    """The path in the site of a file of the repository; for a file that is no page, a path that no page has."""
    return PAGES.get(source, source.removeprefix("docs/") if source.startswith("docs/") else f"../{source}")


def _expanded(entry: Any) -> Any:
    if isinstance(entry, dict):
        return {title: _expanded(below) for title, below in entry.items()}
    if isinstance(entry, list):
        return [_expanded(below) for below in entry]
    if not entry.endswith("/"):
        return entry
    pages = sorted(
        path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs" / entry).glob("*.md")
    )
    return sorted(pages, key=lambda page: not page.endswith("/README.md"))


def _file_of(files: Files, uri: str) -> File:
    found = files.get_file_from_path(uri)
    assert found is not None, uri
    return found
