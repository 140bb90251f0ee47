"""A run of a consumer without Spark: its output's rows are the texts of its source's files.

Of a consumer of changes they are a log: `<version> + <text>` and `<version> - <text>`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from kernel.support import COLUMNS, COMMIT, rows_of, stage
from lakemerge.consumer import Batch, Consumer, Options, Run, record
from lakemerge.errors import CommitConflict
from lakemerge.kernel import HiveColumn, Kernel, TableDefinition, TableName, Transaction
from lakemerge.kernel.ports.names import DEFAULT_PARTITION
from lakemerge.kernel.table.state import TableState

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
        publish(kernel, output, texts_of(batch), batch, rebuild)
    except Exception as error:
        batch.fail(str(error))
        raise
    batch.succeed()


def texts_of(batch: Batch) -> list[str]:
    """What the output gets of a batch."""
    kernel = batch.consumer.kernel
    if batch.progress.changes:
        return _log_of(kernel, batch)
    return [f"{part} {kernel.files.read_text(path)}" for path, part in batch.files()]


def _log_of(kernel: Kernel, batch: Batch) -> list[str]:
    start, state, lines = batch.progress.position, kernel.open(batch.consumer.source), []
    assert start is not None
    before = Counter() if start.initial else version_texts(kernel, state, start.txn)
    for item in batch.items:
        after = version_texts(kernel, state, item.mark)
        lines += [f"{item.version} + {text}" for text in (after - before).elements()]
        lines += [f"{item.version} - {text}" for text in (before - after).elements()]
        before = after
    return lines


def version_texts(kernel: Kernel, state: TableState, txn: str) -> Counter[str]:
    """All rows of a version, from its own files."""
    found: Counter[str] = Counter()
    for one in kernel.manifest(state, txn).partitions.values():
        place = state.layout.absolute(one.location)
        found.update(kernel.files.read_text(file.path) for file in kernel.files.list(place))
    return found


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


def replayed(kernel: Kernel, output: TableName) -> Counter[str]:
    """The rows that the log of a consumer of changes leads to; each version must be in it once, in its turn."""
    rows: Counter[str] = Counter()
    reached = 0
    for _, lines in sorted(rows_of(kernel, output).items(), key=lambda one: int(one[0].partition("=")[2])):
        versions = {int(line.split(" ")[0]) for line in lines}
        assert min(versions) > reached, f"{versions} after {reached}"
        reached = max(versions)
        for _, sign, text in (line.split(" ", 2) for line in lines):
            rows[text] += 1 if sign == "+" else -1
    assert min(rows.values(), default=0) >= 0
    return +rows


def texts(kernel: Kernel, name: TableName) -> list[str]:
    """All rows of a table."""
    return [text for rows in rows_of(kernel, name).values() for text in rows]


def states(
    kernel: Kernel, source: TableName, output: TableName, options: Options | None = None
) -> dict[str, str]:
    """The states of the source's partitions, or versions, brought up to date."""
    return {row.partition: row.state for row in consumer_of(kernel, source, output, options).refresh()}


def lose_heartbeat(batch: Batch) -> None:
    """Let a run look dead."""
    batch.consumer.kernel.heartbeats.stop(batch.consumer.working_set.layout, batch.run)
