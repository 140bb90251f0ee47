"""The list of files that an ingest has read: what it knows, and how much of it a look opens."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakemerge.errors import CommitConflict, CorruptTable
from lakemerge.ingest import FileLedger, ReadFile, file_ledger
from lakemerge.kernel import FileEntry, HiveColumn, Kernel, TableDefinition, TableName
from lakemerge.testing import World

NAME = TableName("s", "t")
PATHS = st.sampled_from([f"file:/in/{name}" for name in ("a", "b", "é\u2028", "c d", *"efghij")])
FACTS = st.tuples(st.integers(0, 3), st.integers(0, 3))
LANDED = st.dictionaries(PATHS, FACTS, max_size=8)


@pytest.fixture
def kernel() -> Kernel:
    return table(World())


def table(world: World) -> Kernel:
    kernel = Kernel(world.process())
    kernel.create(TableDefinition(NAME, (HiveColumn("a", "string"),))).commit()
    return kernel


def ledger_of(kernel: Kernel) -> FileLedger:
    return FileLedger.of(kernel.files, kernel.begin(NAME, "ingest"))


def read(kernel: Kernel, landed: dict[str, tuple[int, int]]) -> None:
    """Commit a batch of all that has landed."""
    txn = kernel.begin(NAME, "ingest")
    ledger = FileLedger.of(kernel.files, txn)
    batch = ledger.last_batch + 1
    ledger.record(txn, [ReadFile(path, *facts, batch) for path, facts in landed.items()])
    txn.commit()


def entries(landed: dict[str, tuple[int, int]]) -> list[FileEntry]:
    return [FileEntry(path, path.rpartition("/")[2], *facts, False) for path, facts in landed.items()]


def many(numbers: range) -> dict[str, tuple[int, int]]:
    return {f"file:/in/f{number:03}": (number, number) for number in numbers}


@given(st.lists(LANDED.filter(bool), max_size=12), LANDED, st.integers(1, 4))
def test_it_knows_every_file_as_it_was_when_it_was_read_last(
    batches: list[dict[str, tuple[int, int]]], asked: dict[str, tuple[int, int]], bucket: int
) -> None:
    kernel = table(World())
    known: dict[str, tuple[int, int]] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(file_ledger, "_BUCKET", bucket)
        for number, landed in enumerate(batches):
            read(kernel, landed)
            known |= landed
            assert ledger_of(kernel).last_batch == number + 1
        for look in (asked, known, {**known, **asked}):
            found = ledger_of(kernel).compare(entries(look))
            assert found == {path: known[path] == facts for path, facts in look.items() if path in known}


def test_there_are_few_folders_and_a_line_is_written_again_only_when_the_list_doubles(
    kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = 0
    write_text = kernel.files.write_text

    def count(path: str, text: str) -> None:
        nonlocal lines
        lines += text.count("\n") if path.endswith(".jsonl") else 0
        write_text(path, text)

    monkeypatch.setattr(kernel.files, "write_text", count)
    for number in range(256):
        read(kernel, many(range(4 * number, 4 * number + 4)))
        assert len(kernel.settled(NAME)[1].sidecars["files"]) <= 9
    assert lines <= 1024 * 9


class TestALook:
    """At a list of 40 files in eight buckets, and a newer one of 10 in two."""

    @pytest.fixture(autouse=True)
    def _lists(self, kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(file_ledger, "_BUCKET", 5)
        read(kernel, many(range(40)))
        read(kernel, many(range(40, 50)))
        self.opened: list[str] = []
        read_text = kernel.files.read_text

        def note(path: str) -> str:
            self.opened += [path] if path.endswith(".jsonl") else []
            return read_text(path)

        monkeypatch.setattr(kernel.files, "read_text", note)

    @pytest.mark.parametrize(
        ("there", "opened"),
        [
            (range(50), 0),
            (range(0), 0),
            (range(50, 60), 0),
            (range(45, 60), 0),
            (range(38, 60), 1),
            (range(1, 40, 10), 4),
        ],
        ids=["all read", "nothing", "all new", "the last bucket", "a part of one", "a few of four"],
    )
    def test_opens_buckets_of_which_some_files_are_there_and_others_are_not(
        self, kernel: Kernel, there: range, opened: int
    ) -> None:
        found = ledger_of(kernel).compare(entries(many(there)))
        assert found == dict.fromkeys(many(range(there.start, min(there.stop, 50), there.step)), True)
        assert len(self.opened) == opened

    def test_opens_the_bucket_of_a_changed_file(self, kernel: Kernel) -> None:
        changed = {**many(range(50)), "file:/in/f007": (1, 8)}
        assert [path for path, same in ledger_of(kernel).compare(entries(changed)).items() if not same] == [
            "file:/in/f007"
        ]
        assert len(self.opened) == 1


def test_two_that_read_the_same_files_at_once_are_a_conflict(kernel: Kernel) -> None:
    slow = kernel.begin(NAME, "ingest")
    FileLedger.of(kernel.files, slow).record(slow, [ReadFile("file:/in/a", 1, 1, 1)])
    read(kernel, {"file:/in/a": (1, 1)})
    with pytest.raises(CommitConflict):
        slow.commit()


@pytest.mark.parametrize("text", ["", "{}", '{"batch": 1}', '{"batch": 1, "buckets": [{}]}'])
def test_an_index_that_is_none_is_corrupt(kernel: Kernel, text: str) -> None:
    kernel.files.write_text("memory:/l/index.json", text)
    with pytest.raises(CorruptTable, match=r"index\.json"):
        FileLedger(kernel.files, ["memory:/l"])


def test_a_list_that_is_lost_or_broken_is_corrupt(kernel: Kernel) -> None:
    with pytest.raises(CorruptTable, match=r"index\.json"):
        FileLedger(kernel.files, ["memory:/lost"])
    read(kernel, many(range(2)))
    folder = kernel.begin(NAME, "ingest").layout.absolute(kernel.settled(NAME)[1].sidecars["files"][0])
    for text in ("{}\n", "no JSON\n"):
        kernel.files.write_text(f"{folder}/files-00000.jsonl", text)
        with pytest.raises(CorruptTable, match="files-00000"):
            ledger_of(kernel).compare(entries(many(range(1))))
    kernel.files.delete(f"{folder}/files-00000.jsonl")
    with pytest.raises(CorruptTable, match="files-00000"):
        ledger_of(kernel).compare(entries(many(range(1))))
