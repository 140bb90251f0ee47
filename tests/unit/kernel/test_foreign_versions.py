"""Versions that take in what another program did say only that."""

from __future__ import annotations

from kernel.consuming import consume, texts
from kernel.support import COLUMNS, KEYS, append, compact, create_appendable, locations, settled, stage
from lakemerge.kernel import Kernel, TableDefinition, TableName
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


def test_the_number_of_rows_is_unknown_after_a_foreign_write() -> None:
    kernel = Kernel(memory_ports())
    txn = kernel.create(TableDefinition(SOURCE, COLUMNS, KEYS))
    stage(kernel, txn, {"p=1": ["a"]})
    txn.properties = {"rows": 1}
    txn.commit()
    rows = "spark.sql.statistics.numRows"
    assert kernel.table(SOURCE).parameters[rows] == "1"
    kernel.files.write_text(f"{locations(kernel, SOURCE)['p=1']}/foreign.orc", "b")
    kernel.recover(SOURCE)
    parameters = kernel.table(SOURCE).parameters
    assert rows not in parameters
    assert (parameters["numFiles"], parameters["totalSize"]) == ("2", "2")
