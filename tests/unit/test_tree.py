"""What must hold of every file in the repository."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
FOLDERS = (
    ".ci",
    ".github",
    "benchmarks",
    "docs",
    "macros",
    "models",
    "profiles",
    "scripts",
    "seeds",
    "snapshots",
    "src",
    "tests",
)
SUFFIXES = {"", ".md", ".py", ".sh", ".sql", ".toml", ".txt", ".yaml", ".yml"}
MOST_LINES = 500
MOST_LINES_OF_A_MACRO_FILE = 150


def text_files() -> Iterator[Path]:
    """Files that people write, those at the root included; no link is followed."""
    yield from (path for path in REPOSITORY.iterdir() if path.is_file() and path.suffix in SUFFIXES)
    for folder in FOLDERS:
        for path in (REPOSITORY / folder).rglob("*"):
            if path.is_file() and path.suffix in SUFFIXES and "__pycache__" not in path.parts:
                yield path


def too_long(paths: Iterator[Path], most: int) -> dict[str, int]:
    lengths = {str(path.relative_to(REPOSITORY)): path.read_text().count("\n") for path in paths}
    assert lengths
    return {name: length for name, length in lengths.items() if length > most}


def test_no_file_is_too_long() -> None:
    assert too_long(text_files(), MOST_LINES) == {}


def test_no_macro_file_is_too_long() -> None:
    assert too_long((REPOSITORY / "macros").rglob("*.sql"), MOST_LINES_OF_A_MACRO_FILE) == {}


def test_text_ends_with_one_line_break_and_has_no_trailing_spaces() -> None:
    untidy = []
    for path in text_files():
        text = path.read_text()
        if text and (not text.endswith("\n") or text.endswith("\n\n")):
            untidy.append(f"{path.relative_to(REPOSITORY)}: end of file")
        untidy += [
            f"{path.relative_to(REPOSITORY)}:{number}"
            for number, line in enumerate(text.split("\n"), start=1)
            if line != line.rstrip() or "\t" in line.lstrip("\t")
        ]
    assert untidy == []


def test_packages_of_tests_have_names_of_their_own() -> None:
    """pytest imports a folder with `__init__.py` by its name, of two with one name only the first."""
    folders = [path.parent for path in (REPOSITORY / "tests").rglob("__init__.py")]
    names = [folder.name for folder in folders if folder.parent not in folders]
    assert sorted(names) == sorted(set(names))
