"""Kafka's topics: their state as the brokers report it, and their records as a temporary view.

The brokers are asked through the client that comes with Spark's connector, in Spark's own Java, so that no second
client has to be installed and configured to log in.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from py4j.java_gateway import JavaClass, is_instance_of

from lakemerge.engine.ingest.ingest_plan import IngestPlan, RecordGroup
from lakemerge.engine.spark.connectors import connector_missing
from lakemerge.errors import BrokerError, BrokerUnreachable, TopicNotFound
from lakemerge.ingest.topics import OffsetRange, TopicRules, TopicState
from lakemerge.kernel import JAVA_ERRORS, Jvm

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

_PREFIX = "kafka."
# The id that brokers without topic ids report.
_NO_ID = "AAAAAAAAAAAAAAAAAAAAAA"
_RETRIABLE = "org.apache.kafka.common.errors.RetriableException"
_UNKNOWN = ("UnknownTopicOrPartitionException", "InvalidTopicException", "UnknownTopicIdException")


class TopicSource:
    """What a run reads of topics."""

    def __init__(self, spark: SparkSession, jvm: Jvm, plan: IngestPlan, rules: TopicRules) -> None:
        self._spark = spark
        self._jvm = jvm
        self._plan = plan
        self._rules = rules

    # -- the brokers ---------------------------------------------------------------------------

    def states(self) -> dict[str, TopicState]:
        """The current state of the model's topics, as the brokers report it.

        Kafka's client retries by itself for the time of ``default.api.timeout.ms`` (by default a minute).

        Raises:
            ConnectorMissing: Spark has no connector for Kafka.
            BrokerUnreachable: no broker answers.
            TopicNotFound: one of the topics does not exist.
            BrokerError: the brokers refuse.
        """
        with self._admin() as admin:
            names = self._jvm.java.java.util.ArrayList()
            for name in self._rules.subscribe:
                names.add(name)
            described = self._asked(lambda: admin.describeTopics(names).topicNameValues())
            topics = {name: self._asked(described.get(name).get, name) for name in self._rules.subscribe}
            numbers = {
                name: [row.partition() for row in topic.partitions()] for name, topic in topics.items()
            }
            earliest, latest = self._ends(admin, numbers, "earliest"), self._ends(admin, numbers, "latest")
            return {
                name: TopicState(
                    id=str(topic.topicId().toString()).replace(_NO_ID, ""),
                    partitions={n: (earliest[name, n], latest[name, n]) for n in sorted(numbers[name])},
                )
                for name, topic in topics.items()
            }

    def _ends(
        self, admin: Any, numbers: Mapping[str, Sequence[int]], which: str
    ) -> dict[tuple[str, int], int]:
        """The earliest or the latest offset of each partition, as a consumer with these options gets it."""
        clients, common = self._clients, self._jvm.java.org.apache.kafka.common
        spec = getattr(clients.admin.OffsetSpec, which)()
        level = self._rules.options.get("kafka.isolation.level", "read_uncommitted").upper()
        isolation = common.IsolationLevel.valueOf(level)
        wanted = self._jvm.java.java.util.HashMap()
        places = {(name, n): common.TopicPartition(name, n) for name, parts in numbers.items() for n in parts}
        for partition in places.values():
            wanted.put(partition, spec)
        options = clients.admin.ListOffsetsOptions(isolation)
        found = self._asked(lambda: admin.listOffsets(wanted, options).all().get())
        return {place: int(found.get(partition).offset()) for place, partition in places.items()}

    @property
    def _clients(self) -> Any:
        return self._jvm.java.org.apache.kafka.clients

    @contextmanager
    def _admin(self) -> Iterator[Any]:
        source = self._jvm.java.org.apache.spark.sql.kafka010.KafkaSourceProvider
        if not isinstance(source, JavaClass):
            raise connector_missing(self._spark, "connector for Kafka", "spark-sql-kafka-0-10")
        properties = self._jvm.java.java.util.Properties()
        for name, value in self._rules.options.items():
            if name.startswith(_PREFIX):
                properties.setProperty(name.removeprefix(_PREFIX), value)
        admin = self._asked(lambda: self._clients.admin.Admin.create(properties))
        try:
            yield admin
        finally:
            admin.close()

    def _asked(self, call: Callable[[], Any], topic: str = "") -> Any:
        """The answer to a call. Raises BrokerError and its kinds."""
        try:
            return call()
        except JAVA_ERRORS as error:
            raise self._typed(error, topic) from error

    def _typed(self, error: Any, topic: str) -> BrokerError:
        cause = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
        texts, retriable = [], False
        while cause is not None:
            texts.append(str(cause.toString()))
            retriable = retriable or is_instance_of(self._jvm.gateway, cause, _RETRIABLE)
            cause = cause.getCause()
        text = texts[-1] if texts else str(error)
        servers = self._rules.options["kafka.bootstrap.servers"]
        if any(kind in text for kind in _UNKNOWN):
            return TopicNotFound(
                expected=f"a topic {topic} at {servers}",
                found="none, or one that this user may not describe",
                action="Create it, correct `subscribe`, or grant the right to describe and read it.",
            )
        if retriable:
            return BrokerUnreachable(
                expected=f"an answer from Kafka's brokers at {servers}",
                found=text,
                action="Start them, or correct kafka.bootstrap.servers.",
            )
        return BrokerError(
            expected=f"Kafka's brokers at {servers} to say what they have",
            found=text,
            action="Correct the model's `kafka.*` options; they are those of Kafka's consumer.",
        )

    # -- records -------------------------------------------------------------------------------

    def open(self, ranges: Sequence[OffsetRange]) -> list[RecordGroup]:
        """Make a view of the records of some ranges; a record's place is its partition and its offset."""
        view = "lakemerge_lines_0"
        plan, rules = self._plan, self._rules
        by_topic: dict[str, list[OffsetRange]] = {}
        for item in ranges:
            by_topic.setdefault(item.topic, []).append(item)
        reader = self._spark.read.format("kafka").options(**rules.options)
        frame = (
            reader.option("assign", _json(by_topic, lambda items: [item.partition for item in items]))
            .option("startingOffsets", _json(by_topic, lambda items: {i.partition: i.start for i in items}))
            .option("endingOffsets", _json(by_topic, lambda items: {i.partition: i.end for i in items}))
            .option("failOnDataLoss", str(rules.fail_on_data_loss).lower())
            .load()
        )
        if not rules.keeps_tombstones:
            frame = frame.where("value is not null")
        frame.selectExpr(
            "cast(value as string) as _lakemerge_raw",
            "concat(topic, '-', partition) as _lakemerge_file",
            "timestamp as _lakemerge_file_modified",
            "offset as _lakemerge_line",
            f"{plan.batch}L as _lakemerge_batch",
            "current_timestamp() as _lakemerge_ingested_at",
            "0 as _lakemerge_replays",
        ).createOrReplaceTempView(view)
        plan.tasks = max(1, min(len(ranges), self._spark.sparkContext.defaultParallelism))
        options = plan.options
        return [RecordGroup(view, options.format, plan.file_fields, options, plan.columns, has_nulls=True)]


def _json(by_topic: Mapping[str, list[OffsetRange]], value: Callable[[list[OffsetRange]], object]) -> str:
    return json.dumps({topic: value(items) for topic, items in by_topic.items()})
