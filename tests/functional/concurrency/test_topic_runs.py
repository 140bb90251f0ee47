"""Ingest of topics of a real broker, by dbt in processes of its own: each record once, or an error that says why."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from bounded import next_line
from functional.concurrency.conftest import STEPS as ALL_STEPS
from functional.concurrency.conftest import DbtCommands, DbtProject
from functional.concurrency.kafka_broker import KafkaBroker

pytestmark = pytest.mark.slow

# Of the releases before pyspark's own, whose connector was not published, one with all its dependencies.
CONNECTOR = {
    "spark.jars.packages": "org.apache.spark:spark-sql-kafka-0-10_2.13:4.0.0",
    "spark.jars.excludes": "org.apache.hadoop:hadoop-client-runtime,org.apache.hadoop:hadoop-client-api",
}
MODEL = """
{{ config(materialized='ingest', kafka=var('kafka'), record_columns=['_topic', '_partition', '_offset', '_batch'],
          **var('options', {})) }}
"""
# Without a sequence: of two changes of a key the one of the higher offset counts.
ROUTED = """
{{ config(
    materialized='ingest', kafka=var('kafka'), null_literal='-', route_by='source', record_columns=['_offset'],
    routes={
        'stock': {'table': 'stock', 'deletes': "op = 'D'"},
        'log': {'table': 'log', 'columns': {'what': 'op', 'place': '_offset'}},
    },
) }}
{% do ref('stock') %}{% do ref('log') %}
"""
ROUTED_YML = """
models:
  - name: events
    columns: [{name: source, data_type: string}, {name: op, data_type: string}, {name: id, data_type: int},
              {name: pieces, data_type: int}]
"""
STOCK = """
{{ config(materialized='incremental', unique_key='id', write_mode='merge_on_read') }}
select cast(null as int) as id, cast(null as int) as pieces where false
"""
LOG = """
{{ config(materialized='incremental', incremental_strategy='append', append_layout='commit_partitioned') }}
select cast(null as int) as id, cast(null as string) as what, cast(null as bigint) as place where false
"""
YML = "models: [{name: events, columns: [{name: id, data_type: int}, {name: name, data_type: string}]}]\n"
STEPS = tuple(step for step in ALL_STEPS if step != "registered")


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    broker = KafkaBroker(tmp_path_factory.mktemp("kafka"))
    broker.start()
    yield broker
    broker.stop()


class TopicRuns:
    """A project with one ingest of one topic, both of one name."""

    def __init__(self, project: DbtProject, broker: KafkaBroker) -> None:
        self.project = project
        self.topic = project.name
        self._servers = broker.servers
        project.write("models/events.sql", MODEL)
        project.write("models/events.yml", YML)

    def arguments(self, kafka: dict[str, Any] | None = None, **options: Any) -> list[str]:
        given = {"kafka.bootstrap.servers": self._servers, "subscribe": self.topic, **(kafka or {})}
        return ["--vars", json.dumps({"kafka": given, "options": options})]

    def select(self, dbt: DbtCommands, query: str) -> list[list[Any]]:
        """Rows of a query, in which `{events}` is the table."""
        return dbt.rows(query.format(events=f"{self.project.name}.events"), *self.arguments())


@pytest.fixture(scope="module")
def topic_runs(dbt_project: Callable[..., DbtProject], broker: KafkaBroker) -> Callable[[str], TopicRuns]:
    return lambda name: TopicRuns(dbt_project(name, CONNECTOR), broker)


def test_records_become_rows_or_go_to_quarantine_by_partition_and_offset(
    topic_runs: Callable[[str], TopicRuns], broker: KafkaBroker
) -> None:
    runs = topic_runs("read_topic")
    broker.create(runs.topic, partitions=2)
    broker.send(runs.topic, ["1,a", "bad,b", None, "2,two\nlines"])
    broker.send(runs.topic, [b"3,\xff", "4,d,more", "5,e"], partition=1)
    with runs.project.commands() as dbt:
        first = dbt("run", *runs.arguments())
        assert first["success"], first
        response = first["response"]
        assert (response["inserted"], response["quarantined"], response["offsets"]) == (3, 4, 7)
        rows = "select id, name, _topic, _partition, _offset, _batch from {events} order by id"
        assert runs.select(dbt, rows) == [
            [1, "a", runs.topic, 0, 0, 1],
            [2, "two\nlines", runs.topic, 0, 3, 1],
            [5, "e", runs.topic, 1, 2, 1],
        ]
        bad = "select file, line, reason, record from {events}__quarantine order by file, line"
        assert runs.select(dbt, bad) == [
            [f"{runs.topic}-0", 1, "malformed_value", "bad,b"],
            [f"{runs.topic}-0", 2, "null_value", None],
            [f"{runs.topic}-1", 0, "bad_encoding", "3,\ufffd"],
            [f"{runs.topic}-1", 1, "extra_field", "4,d,more"],
        ]
        again = dbt("run", *runs.arguments())
        assert (again["response"]["version"], again["response"]["offsets"]) == (0, 0)

        # replayed by other options, with the place of the first reading
        relaxed = runs.arguments(extra_fields="drop")
        replayed = dbt("run-operation", "lakemerge_replay", "--args", "{model_name: events}", *relaxed)
        assert replayed["success"], replayed
        assert runs.select(dbt, "select _partition, _offset, _batch from {events} where id = 4") == [
            [1, 1, 1]
        ]
        assert len(runs.select(dbt, bad)) == 3

        # a limit is for all partitions together; a partition that is added is read from its beginning
        broker.add_partitions(runs.topic, 3)
        for partition in range(3):
            broker.send(runs.topic, [f"{partition}{number},x" for number in range(10, 14)], partition)
        limited = runs.arguments({"maxOffsetsPerTrigger": 6})
        second = dbt("run", *limited)["response"]
        assert (second["inserted"], second["offsets"], second["backlog"]) == (6, 6, 6)
        rest = dbt("run", *runs.arguments({"maxOffsetsPerTrigger": 2}, trigger="available_now"))["response"]
        assert (rest["inserted"], rest["backlog"]) == (6, 0)
        counted = "select count(*), count(distinct id), max(_batch) from {events} where id >= 10"
        assert runs.select(dbt, counted)[0][:2] == [12, 12]

        # other formats, and records without a value left out
        broker.send(runs.topic, ['{"id": 7, "name": "json"}', '{"id": "8"}', None])
        broker.send(runs.topic, [], partition=1)
        third = dbt("run", *runs.arguments(format="json", tombstones="drop"))["response"]
        assert (third["inserted"], third["quarantined"], third["offsets"]) == (1, 1, 3)
        broker.send(runs.topic, ["<9> regex", "no"])
        fourth = dbt("run", *runs.arguments(format="regex", pattern="<([0-9]+)> (.*)"))["response"]
        assert (fourth["inserted"], fourth["quarantined"]) == (1, 1)


def test_records_of_a_topic_go_to_their_tables_once_through_kills(
    topic_runs: Callable[[str], TopicRuns], broker: KafkaBroker
) -> None:
    runs = topic_runs("routed_topic")
    for path, text in (
        ("events.sql", ROUTED),
        ("events.yml", ROUTED_YML),
        ("stock.sql", STOCK),
        ("log.sql", LOG),
    ):
        runs.project.write(f"models/{path}", text)
    only = ("--select", "events", *runs.arguments())
    broker.create(runs.topic)
    broker.send(runs.topic, ["stock,U,1,10", "log,first,1,-"])
    runs.project.run("run", *runs.arguments())
    broker.send(runs.topic, ["stock,U,1,11", "stock,U,2,20", "stock,U,1,12", "nowhere,U,3,1"])
    runs.project.run_killed("run", *only, at="table claimed")
    broker.send(runs.topic, ["stock,D,2,-", "stock,U,3,many", "log,second,2,-", "stock,U,4,40"])
    runs.project.run_killed("run", *only, at="claimed")
    with runs.project.commands() as dbt:
        last = dbt("run", *only)
        assert last["success"], last
        stock = f"select id, pieces from {runs.topic}.stock order by id"
        assert dbt.rows(stock, *runs.arguments()) == [[1, 12], [4, 40]]
        log = f"select id, what, place from {runs.topic}.log order by place"
        assert dbt.rows(log, *runs.arguments()) == [[1, "first", 1], [2, "second", 8]]
        bad = "select line, reason from {events}__quarantine order by line"
        assert runs.select(dbt, bad) == [[5, "unknown_route"], [7, "malformed_value"]]
        assert dbt("run", *only)["response"]["offsets"] == 0


def test_of_transactions_only_what_is_committed(
    topic_runs: Callable[[str], TopicRuns], broker: KafkaBroker
) -> None:
    runs = topic_runs("transactions")
    broker.create(runs.topic)
    arguments = runs.arguments({"kafka.isolation.level": "read_committed"})
    with runs.project.commands() as dbt:
        with broker.transaction(runs.topic, ["1,given up", "2,given up"]) as end:
            end("abort")
        broker.send(runs.topic, ["3,plain"])
        with broker.transaction(runs.topic, ["4,in it"]) as end:
            broker.send(runs.topic, ["5,after it began"])
            first = dbt("run", *arguments)
            assert first["success"], first
            assert first["response"]["inserted"] == 1
            end("commit")
        assert dbt("run", *arguments)["response"]["inserted"] == 2
        # the mark of the end has an offset, and is no record
        assert dbt("run", *arguments)["response"]["offsets"] == 0
        assert runs.select(dbt, "select id from {events} order by id") == [[3], [4], [5]]
        assert dbt("run", "--full-refresh", *runs.arguments())["response"]["inserted"] == 5


def test_what_is_gone_before_it_was_read_is_an_error_that_says_what_to_do(
    topic_runs: Callable[[str], TopicRuns], broker: KafkaBroker
) -> None:
    runs = topic_runs("lost_topic")
    goes_on = runs.arguments({"failOnDataLoss": False})
    with runs.project.commands() as dbt:
        missing = dbt("run", *runs.arguments())
        assert "TopicNotFound" in missing["message"]
        dead = {"kafka.default.api.timeout.ms": 2000, "kafka.request.timeout.ms": 1000}
        unreachable = dbt("run", *runs.arguments({"kafka.bootstrap.servers": "localhost:9", **dead}))
        assert "BrokerUnreachable" in unreachable["message"]
        refused = dbt("run", *runs.arguments({"kafka.security.protocol": "nothing"}))
        assert "BrokerError" in refused["message"]

        broker.create(runs.topic)
        broker.send(runs.topic, ["1,before"])
        # what a first run passes over must stay so for the next ones
        latest = runs.arguments({"startingOffsets": "latest"})
        assert dbt("run", *latest)["response"]["offsets"] == 0
        broker.send(runs.topic, ["2,a", "3,a", "4,a"])
        assert dbt("run", *latest)["response"]["inserted"] == 3

        broker.send(runs.topic, ["5,expired", "6,expired", "7,b"])
        broker.expire(runs.topic, 6)
        expired = dbt("run", *runs.arguments())
        assert "OffsetOutOfRange" in expired["message"]
        assert "2 offsets are gone" in expired["message"]
        assert "failOnDataLoss" in expired["message"]
        assert dbt("run", *goes_on)["response"]["inserted"] == 1

        broker.delete(runs.topic)
        broker.create(runs.topic)
        broker.send(runs.topic, [f"{number},anew" for number in range(10, 20)])
        replaced = dbt("run", *runs.arguments())
        assert "TopicReplaced" in replaced["message"]
        assert dbt("run", *goes_on)["response"]["inserted"] == 10
        ids = [id_ for (id_,) in runs.select(dbt, "select id from {events} order by id")]
        assert ids == [2, 3, 4, 7, *range(10, 20)]
        # a full refresh is a new table
        assert dbt("run", "--full-refresh", *runs.arguments())["response"]["inserted"] == 10


def test_each_record_once_through_kills_two_runs_at_once_and_a_stream(
    topic_runs: Callable[[str], TopicRuns], broker: KafkaBroker
) -> None:
    runs = topic_runs("killed_topic")
    broker.create(runs.topic, partitions=2)
    sent = 0

    def send() -> None:
        nonlocal sent
        for partition in range(2):
            broker.send(runs.topic, [f"{sent}{n},x" if n else f"bad{sent},x" for n in range(3)], partition)
            sent += 1

    for step in STEPS:
        send()
        runs.project.run_killed("run", *runs.arguments(), at=step)
    send()
    with runs.project.two_at_once() as both:
        responses = both("run", *runs.arguments())
    # the one that came second found nothing left, or what the last killed run had not read
    assert sum(bool(response["version"]) for response in responses) >= 1
    options = runs.arguments(trigger="processing_time", trigger_interval="1 second")
    process = runs.project.start_stream("--select", "events", "--log-format", "json", *options)
    try:
        send()
        reported = json.loads(next_line(process))
        assert reported["read"]["offsets"] > 0
        assert reported["behind"] == {"offsets": 0}
        process.send_signal(signal.SIGTERM)
        errors = process.communicate(timeout=120)[1]
        assert process.returncode == 0, errors
    finally:
        process.kill()
        process.communicate()
    runs.project.run("run", *runs.arguments())
    with runs.project.commands() as dbt:
        rows = runs.select(dbt, "select id from {events} order by id")
        assert sorted(id_ for (id_,) in rows) == sorted(int(f"{s}{n}") for s in range(sent) for n in (1, 2))
        bad = runs.select(dbt, "select record from {events}__quarantine")
        assert sorted(record for (record,) in bad) == sorted(f"bad{s},x" for s in range(sent))
        places = "select count(distinct _partition, _offset), count(*) from {events}"
        ((distinct, count),) = runs.select(dbt, places)
        assert distinct == count
