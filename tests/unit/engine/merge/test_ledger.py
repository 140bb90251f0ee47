"""What a ledger is for, as far as it can be told without Spark; the rest is in the functional tests of merges."""

from __future__ import annotations

import json

from lakemerge.engine.merge.ledger import LedgerPurpose, Part, key_order
from lakemerge.engine.merge.sequences import sequence_metrics, sequence_order

PURPOSE = LedgerPurpose(
    (Part("id", "int"),), (Part("ts", "timestamp"), Part("line", "int")), ("since",), False
)


def test_comes_back_from_a_manifest() -> None:
    assert LedgerPurpose.of_record(json.loads(json.dumps(PURPOSE.record))) == PURPOSE


def test_is_told_as_the_options_that_it_comes_of() -> None:
    assert str(PURPOSE) == "unique_key id (int) and sequence_by ts (timestamp), line (int)"
    assert PURPOSE.columns == "__key_1 int, __sequence struct<part_1: timestamp, part_2: int>"


def test_types_of_text_are_one() -> None:
    assert Part.of("k", "varchar(10)").united(Part.of("k", "string")) == Part("k", "string")


def test_a_key_has_the_order_that_the_ledger_has() -> None:
    record = LedgerPurpose((Part("b", "int"), Part("a", "int")), (Part("ts", "int"),)).record
    assert key_order(("a", "b"), record) == ("b", "a")
    assert key_order(("a", "c"), record) == ("a", "c")
    assert key_order(("a", "b"), None) == ("a", "b")


def test_texts_of_sequences_say_how_they_are_ordered() -> None:
    assert sequence_order(["int", "decimal(10,2)", "timestamp"]) == "number, number, timestamp"
    assert sequence_order(["date", "string"]) == "date, string"
    assert sequence_order(["bigint", "double"]) == ""
    assert sequence_metrics(["double"]) == {}
    assert set(sequence_metrics(["bigint"])) == {"min_sequence", "max_sequence"}
