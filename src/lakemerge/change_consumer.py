"""A consumer of the changes of one table that writes another one, for programs that use Spark and no dbt."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TypeAlias

from lakemerge.kernel import Kernel, TableName

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from lakemerge.engine.consume.consumption import Consumption, Request
    from lakemerge.engine.publish.result import CommitResult

#: How the rows are made of the changes: SQL that reads them by the name ``changes``, or a function of their frame.
Query: TypeAlias = "str | Callable[[DataFrame], DataFrame]"
_ALL = "select * from changes"


class ChangeConsumer:
    """Brings what has changed in one table into another; :meth:`lakemerge.tables.Table.consume_changes` makes one.

    Each call of :meth:`merge`, :meth:`append` or :meth:`overwrite_partitions` takes what commits have done since the
    last one. How far that goes is recorded by the commit of the rows itself, so each change counts once, whatever
    happens to the program. A call that finds no change writes nothing.

    A query or function that reads the written table, too, as an aggregate that is kept by increments does, is run anew
    for each attempt at the commit.
    """

    def __init__(
        self,
        spark: SparkSession,
        kernel: Kernel,
        output: TableName,
        source: TableName,
        options: Mapping[str, Any],
    ) -> None:
        from lakemerge.engine.consume.consume_options import ConsumeConfig

        self._spark, self._kernel, self._output, self._source = spark, kernel, output, source
        self._config = ConsumeConfig.of(options, output.name, changes=True)

    def __repr__(self) -> str:
        return f"<consumer {self._config.consumer} of the changes of {self._source}, into {self._output}>"

    def merge(self, rows: Query = _ALL, *, rebuild: bool = False, **options: Any) -> CommitResult:
        """Merge the rows into the table; options are those of :meth:`lakemerge.tables.Table.merge`.

        Args:
            rows: SQL that reads the changes by the name ``changes``, or a function of their frame; all changes, as they
                are, by default.
            rebuild: put a new table in the place of what is there, made of the whole table that is followed.

        Returns:
            What was committed; ``left`` is the number of versions that later calls have to take.

        Raises:
            ConsumerExpired: the table that is followed was made again, or versions are vacuumed: use ``rebuild``.
            ConsumerFenced: another run has these changes. Nothing was published.
            LakemergeError, PySparkException: nothing was published, unless the error says otherwise, and the next call
                takes the same changes.
        """
        return self._run("merge", rows, rebuild, options)

    def append(self, rows: Query = _ALL, *, rebuild: bool = False, **options: Any) -> CommitResult:
        """Add the rows to the table, as :meth:`merge` merges them."""
        return self._run("append", rows, rebuild, options)

    def overwrite_partitions(
        self, rows: Query = _ALL, *, rebuild: bool = False, **options: Any
    ) -> CommitResult:
        """Replace the partitions that the rows belong to, as :meth:`merge` merges them."""
        return self._run("insert_overwrite", rows, rebuild, options)

    def changes(self) -> DataFrame:
        """The changes that a call would take now, as a frame; nothing is taken."""
        consumption, use = self._use()
        return consumption.preview(use)

    def states(self) -> list[dict[str, Any]]:
        """The versions that are to be taken, in progress, and processed last, as ``<table>__consumers`` has them.

        Raises:
            TableNotFound, ConsumerExpired: a table is gone, or versions are.
        """
        return [asdict(row) for row in self._consumer.refresh()]

    def reset(self, version: int | None = None) -> None:
        """Go on after a version of the table that is followed, or (``None``) begin with all of its rows again.

        Calls that are at work cannot commit any more. Rows of the written table stay.

        Raises:
            ConsumerExpired: there is no such version any more.
            TableNotFound: there is no table yet that it writes.
        """
        self._consumer.reset(version)

    def drop(self) -> None:
        """Forget how far the consumer has come, and let vacuum have what it has not read."""
        self._consumer.drop()

    @property
    def _consumer(self) -> Any:
        return self._use()[0].consumer(self._source, self._config)

    def _use(self) -> tuple[Consumption, Request]:
        from lakemerge.engine.consume.consumption import Consumption, Request
        from lakemerge.engine.packaged_macros import packaged_macros

        use = Request("", self._source, self._config, packaged_macros())
        return Consumption(self._spark, self._kernel, self._output), use

    def _run(self, strategy: str, rows: Query, rebuild: bool, options: dict[str, Any]) -> CommitResult:
        from lakemerge.engine.request import Request, run_on_changes

        query, function = (rows, None) if isinstance(rows, str) else ("", rows)
        request = Request(
            str(self._output), strategy, options, query, agent="lakemerge.table", rebuild=rebuild
        )
        return run_on_changes(request, self._spark, self._source, self._config, function)
