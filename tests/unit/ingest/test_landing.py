"""Which landed files are to be read, on a file system of a dictionary."""

from __future__ import annotations

from typing import Any

import pytest

from lakemerge.errors import LandingNotFound
from lakemerge.ingest import FileLedger, LandingRules, ReadFile, look
from lakemerge.kernel import FileEntry, HiveColumn, Kernel, TableDefinition, TableName
from lakemerge.testing import World

NOW = 1_000_000


class Files:
    """A file system with what a look at a landing folder asks."""

    def __init__(self, **files: tuple[int, int]) -> None:
        paths = {f"/in/{name.replace('__', '/')}": facts for name, facts in files.items()}
        self.entries = {
            path: FileEntry(path, path.rpartition("/")[2], size, modified, False)
            for path, (size, modified) in paths.items()
        }

    def glob(self, pattern: str) -> list[FileEntry]:
        return [FileEntry("/in", "in", 0, 0, True)] if pattern == "/in" else []

    def list(self, path: str) -> list[FileEntry]:
        below = [entry for where, entry in self.entries.items() if where.startswith(f"{path}/")]
        direct = [entry for entry in below if "/" not in entry.path[len(path) + 1 :]]
        folders = {entry.path[len(path) + 1 :].partition("/")[0] for entry in below if entry not in direct}
        return direct + [FileEntry(f"{path}/{name}", name, 0, 0, True) for name in sorted(folders)]

    def exists(self, path: str) -> bool:
        return path in self.entries

    def is_compressed(self, path: str) -> bool:
        return path.endswith(".gz")


def ledger(*read: ReadFile) -> FileLedger:
    kernel = Kernel(World().process())
    transaction = kernel.create(TableDefinition(TableName("s", "t"), (HiveColumn("a", "string"),)))
    FileLedger(kernel.files, []).record(transaction, read)
    return FileLedger(kernel.files, [transaction.sidecar_directory("files")])


def chosen(files: Any, known: FileLedger | None = None, **rules: Any) -> list[str]:
    found = look(files, LandingRules(("/in",), **rules), known or ledger(), NOW)
    return [entry.path.removeprefix("/in/") for entry in found.chosen]


def test_the_oldest_come_first_and_limits_leave_a_backlog() -> None:
    files: Any = Files(a=(10, 3), b=(10, 1), c=(10, 2))
    assert chosen(files) == ["b", "c", "a"]
    assert chosen(files, max_files=2) == ["b", "c"]
    assert chosen(files, max_bytes=25) == ["b", "c"]
    assert chosen(files, max_bytes=1) == ["b"], "one file is always read"
    found = look(files, LandingRules(("/in",), max_files=1), ledger(), NOW)
    assert [entry.name for entry in found.backlog] == ["c", "a"]


def test_small_files_do_not_overtake_a_large_one() -> None:
    files: Any = Files(a=(10, 1), b=(100, 2), c=(1, 3))
    assert chosen(files, max_bytes=20) == ["a"]


def test_young_files_and_unfinished_names_are_left() -> None:
    files: Any = Files(
        a=(1, NOW - 9_999), b=(1, NOW - 10_000), _c=(1, 1), **{"d.tmp": (1, 1), "_x__e": (1, 1)}
    )
    assert chosen(files) == ["b"]
    assert chosen(files, settle_seconds=0, ignore_names=("a",)) == ["_c", "_x/e", "d.tmp", "b"]


def test_markers_of_folders_and_of_files() -> None:
    files: Any = Files(x__a=(1, 1), x___SUCCESS=(0, 1), y__b=(1, 1))
    assert chosen(files, done_marker="_SUCCESS") == ["x/a"]
    files = Files(**{"a": (1, 1), "a.done": (0, 1), "b": (1, 1)})
    assert chosen(files, done_marker="*.done") == ["a"]


def test_what_was_read_is_not_read_again_unless_it_changed_and_that_is_asked() -> None:
    files: Any = Files(a=(1, 1), b=(2, 1), c=(1, 1))
    known = ledger(ReadFile("/in/a", 1, 1, 1), ReadFile("/in/b", 1, 1, 2))
    assert chosen(files, known) == ["c"]
    assert chosen(files, known, reread_changed=True) == ["b", "c"]
    assert [entry.name for entry in look(files, LandingRules(("/in",)), known, NOW).changed] == ["b"]


def test_a_path_must_exist_and_a_glob_need_not() -> None:
    files: Any = Files()
    with pytest.raises(LandingNotFound):
        look(files, LandingRules(("/out",)), ledger(), NOW)
    assert look(files, LandingRules(("/out/*.csv",)), ledger(), NOW).chosen == []


@pytest.mark.parametrize(
    ("takes_empty", "expected"), [(True, ["a.csv"]), (False, [])], ids=["lines", "header or footer"]
)
def test_an_empty_file_is_left_until_it_has_what_its_format_asks_for(
    takes_empty: bool, expected: list[str]
) -> None:
    files: Any = Files(**{"a.csv": (0, 1), "b.csv.gz": (0, 1)})
    assert chosen(files, takes_empty=takes_empty) == expected
    found = look(files, LandingRules(("/in",), takes_empty=takes_empty), ledger(), NOW)
    assert len(found.unfinished) == 2 - len(expected)
    assert found.changed == []
