"""A run of a consumer without Spark: its output's rows are the texts of its source's files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from kernel.support import COLUMNS, COMMIT, stage
from lakemerge.consumer import Batch, Consumer, Options, record
from lakemerge.errors import CommitConflict
from lakemerge.kernel import HiveColumn, Kernel, TableDefinition, TableName, Transaction
from lakemerge.kernel.names import DEFAULT_PARTITION

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
        work: called between the claim and the commit; what it raises fails the run.
    """
    batch = consumer_of(kernel, source, output, options).claim(rebuild=rebuild)
    if not batch.items:
        return []
    try:
        work(batch)
        texts = [f"{part} {kernel.files.read_text(path)}" for path, part in batch.files()]
        publish(kernel, output, texts, batch, rebuild)
    except Exception as error:
        batch.fail(str(error))
        raise
    batch.succeed()
    return [item.partition for item in batch.items]


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
