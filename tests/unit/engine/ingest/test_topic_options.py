"""The option `kafka` of an ingest: Spark's names, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from lakemerge.engine.ingest.ingest_options import IngestOptions
from lakemerge.errors import InvalidConfig
from lakemerge.ingest import TopicRules

KAFKA = {"kafka.bootstrap.servers": "a:9092,b:9092", "subscribe": "alerts, orders"}


def rules(**changes: Any) -> TopicRules:
    found = IngestOptions.of({"kafka": {**KAFKA, **changes}}).topics
    assert found is not None
    return found


def test_options_are_sparks_in_any_letter_case() -> None:
    found = rules(
        STARTINGOFFSETS='{"alerts": {"0": 23}}',
        maxoffsetspertrigger=1000,
        failOnDataLoss=False,
        **{"kafka.check.crcs": True, "kafka.security.protocol": "SSL", "minPartitions": 4},
    )
    assert found.subscribe == ("alerts", "orders")
    assert found.starting_offsets == {"alerts": {0: 23}}
    assert (found.max_offsets, found.fail_on_data_loss) == (1000, False)
    # all others are Spark's and Kafka's to judge
    assert found.options == {
        "kafka.bootstrap.servers": "a:9092,b:9092",
        "kafka.check.crcs": "true",
        "kafka.security.protocol": "SSL",
        "minPartitions": "4",
    }


def test_what_is_not_given_is_as_in_spark() -> None:
    found = rules()
    assert (found.starting_offsets, found.max_offsets, found.fail_on_data_loss) == ("earliest", 0, True)
    assert rules(startingOffsets={"alerts": {0: -2}}).starting_offsets == {"alerts": {0: -2}}
    assert found.keeps_tombstones
    dropped = IngestOptions.of({"kafka": KAFKA, "tombstones": "drop"}).topics
    assert dropped is not None
    assert not dropped.keeps_tombstones


@pytest.mark.parametrize(
    ("kafka", "problem"),
    [
        ({}, "subscribe must name topics"),
        ({"subscribe": "alerts"}, "kafka.bootstrap.servers must name brokers"),
        ("alerts", "kafka must map"),
        ({**KAFKA, "endingOffsets": "latest"}, "endingOffsets has no meaning here"),
        ({**KAFKA, "subscribePattern": "a.*"}, "subscribePattern has no meaning here"),
        ({**KAFKA, "startingOffsets": "yesterday"}, "startingOffsets must be earliest, latest"),
        ({**KAFKA, "startingOffsets": "[1]"}, "startingOffsets must be earliest, latest"),
        ({**KAFKA, "maxOffsetsPerTrigger": "many"}, "maxOffsetsPerTrigger must be a whole number"),
        ({**KAFKA, "failOnDataLoss": "perhaps"}, "failOnDataLoss must be true or false"),
    ],
)
def test_what_is_wrong_is_said(kafka: Any, problem: str) -> None:
    with pytest.raises(InvalidConfig, match=problem):
        IngestOptions.of({"kafka": kafka})


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"landing": "/in"}, "landing has no meaning with kafka"),
        ({"header": True}, "header has no meaning with kafka"),
        ({"max_files": 3}, "max_files has no meaning with kafka"),
        ({"format": "avro"}, "kafka needs a format of text"),
        ({"record_columns": ["_file"]}, "record_columns may be _topic, _partition, _offset, .*, not _file"),
    ],
)
def test_options_of_files_are_refused(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidConfig, match=problem):
        IngestOptions.of({"kafka": KAFKA, **options})


def test_options_of_topics_are_refused_of_files() -> None:
    with pytest.raises(InvalidConfig, match="tombstones has no meaning without kafka"):
        IngestOptions.of({"landing": "/in", "tombstones": "drop"})
    with pytest.raises(InvalidConfig, match="not _offset"):
        IngestOptions.of({"landing": "/in", "record_columns": ["_offset"]})
