"""Versions that take in what another program did say only that."""

from __future__ import annotations

from kernel.consuming import consume, texts
from kernel.support import append, compact, create_appendable, locations, settled
from lakemerge.kernel import Kernel, TableName
from lakemerge.testing import memory_ports

SOURCE, OUTPUT = TableName("s", "raw"), TableName("s", "clean")


def test_rows_that_another_program_adds_right_after_a_compaction_are_new_rows() -> None:
    kernel = Kernel(memory_ports())
    create_appendable(kernel, SOURCE, {"p=1": ["a"]})
    append(kernel, SOURCE, {"p=1": ["b"]})
    consume(kernel, SOURCE, OUTPUT)
    compact(kernel, SOURCE)
    assert kernel.manifest(settled(kernel, SOURCE)).only_moves_rows
    ((partition, location),) = locations(kernel, SOURCE).items()
    kernel.files.write_text(f"{location}/foreign.orc", "c")
    kernel.recover(SOURCE)
    assert not kernel.manifest(settled(kernel, SOURCE)).only_moves_rows
    assert consume(kernel, SOURCE, OUTPUT) == [partition]
    assert f"{partition} c" in texts(kernel, OUTPUT)
