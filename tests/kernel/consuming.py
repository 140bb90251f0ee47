"""A run of a consumer without Spark: its output's rows are the texts of its source's files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from kernel.support import COLUMNS, COMMIT, rows_of, stage
from lakemerge.consumer import Batch, Consumer, Options, Run, record
from lakemerge.errors import CommitConflict
from lakemerge.kernel import HiveColumn, Kernel, TableDefinition, TableName, Transaction
from lakemerge.kernel.ports.names import DEFAULT_PARTITION

CONSUMER = "cleansing"


def consumer_of(
    kernel: Kernel, source: TableName, output: TableName, options: Options | None = None
) -> Consumer:
    return Consumer(kernel, source, CONSUMER, output, options)


def consume(
    kernel: Kernel,
    source: TableName,
    output: TableName,
    options: Options | None = None,
    *,
    rebuild: bool = False,
    work: Callable[[Batch], None] = lambda _: None,
) -> list[str]:
    """One run; returns the partitions that it consumed.

    Args:
        work: called between a claim and its commit; what it raises fails the run.
    """
    return [
        part for turn in turns(kernel, source, output, options, rebuild=rebuild, work=work) for part in turn
    ]


def turns(
    kernel: Kernel,
    source: TableName,
    output: TableName,
    options: Options | None = None,
    *,
    rebuild: bool = False,
    work: Callable[[Batch], None] = lambda _: None,
) -> list[list[str]]:
    """One run; returns the partitions of each of its commits."""
    done = []
    for (batch,) in Run([consumer_of(kernel, source, output, options)], rebuild=rebuild):
        if batch.items:
            _commit(kernel, output, batch, rebuild, work)
            done.append([item.partition for item in batch.items])
    return done


def _commit(
    kernel: Kernel, output: TableName, batch: Batch, rebuild: bool, work: Callable[[Batch], None]
) -> None:
    try:
        work(batch)
        texts = [f"{part} {kernel.files.read_text(path)}" for path, part in batch.files()]
        publish(kernel, output, texts, batch, rebuild)
    except Exception as error:
        batch.fail(str(error))
        raise
    batch.succeed()


def publish(kernel: Kernel, output: TableName, texts: list[str], batch: Batch, rebuild: bool = False) -> None:
    """Append the texts to the output, or put them in the place of all that it holds."""
    while True:
        transaction = _begin(kernel, output)
        try:
            if rebuild:
                transaction.replace_all()
            stage(kernel, transaction, {f"c={DEFAULT_PARTITION}": texts})
            record(kernel, transaction, [batch])
            transaction.commit()
            return
        except CommitConflict:
            continue  # another run made the table first
        finally:
            transaction.abort()


def _begin(kernel: Kernel, output: TableName) -> Transaction:
    if kernel.exists(output):
        return kernel.begin(output, "append")
    keys = (HiveColumn(COMMIT, "bigint"),)
    return kernel.create(TableDefinition(output, COLUMNS, keys, commit_column=COMMIT))


def drain(kernel: Kernel, source: TableName, output: TableName, options: Options | None = None) -> int:
    """Run until nothing is left; the number of runs that found something."""
    runs = 0
    while consume(kernel, source, output, options):
        runs += 1
    return runs


def counted(texts: list[str]) -> Counter[str]:
    """How often each text is there, whatever partition it was read in."""
    return Counter(text.partition(" ")[2] for text in texts)


def texts(kernel: Kernel, name: TableName) -> list[str]:
    """All rows of a table."""
    return [text for rows in rows_of(kernel, name).values() for text in rows]


def states(kernel: Kernel, source: TableName, output: TableName) -> dict[str, str]:
    """The states of the source's partitions, brought up to date."""
    return {row.partition: row.state for row in consumer_of(kernel, source, output).refresh()}


def lose_heartbeat(batch: Batch) -> None:
    """Let a run look dead."""
    batch.consumer.kernel.heartbeats.stop(batch.consumer.working_set.layout, batch.run)
