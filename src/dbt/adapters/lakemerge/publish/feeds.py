"""The adapter's methods about a model's rows before they are published: the feed, and what is computed of it."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dbt.adapters.base import available
from dbt.adapters.base.meta import AdapterMeta
from dbt.adapters.lakemerge.relations.seeds import frame_of_agate
from dbt.adapters.lakemerge.spark.observations import Observed, observe
from dbt_common.exceptions import DbtRuntimeError

from lakemerge.errors import LakemergeError

if TYPE_CHECKING:
    import agate
    from dbt.adapters.lakemerge.spark.handle import SessionHandle

#: The temporary view of a model's rows.
FEED = "lakemerge_feed"
# Keys above this number are left to Spark's own choice of join: a broadcast of more takes gigabytes.
BROADCAST_KEYS = 5_000_000


class FeedMethods(metaclass=AdapterMeta):
    """A mixin of the adapter; see the materializations for its use."""

    if TYPE_CHECKING:
        connections: Any

        @property
        def handle(self) -> SessionHandle: ...

    @available.parse_none
    def open_python_feed(self) -> None:
        """Make the frame that a Python model returned readable as ``lakemerge_feed``.

        It goes by a global view, for the frame may belong to another session (pandas-on-Spark's do).
        """
        frame = self.handle.python_result
        if frame is None:
            raise DbtRuntimeError("Expected a Python model to have run; found none. Report this.")
        name = f"lakemerge_{uuid.uuid4().hex}"
        frame.createGlobalTempView(name)
        spark = self.handle.spark
        database = spark.conf.get("spark.sql.globalTempDatabase", "global_temp")
        spark.sql(f"create or replace temporary view {FEED} as select * from {database}.{name}")
        self.handle.on_release(lambda: spark.catalog.dropGlobalTempView(name) and None)

    @available.parse_none
    def open_seed_feed(self, table: agate.Table, column_types: Mapping[str, str]) -> None:
        """Make a seed's rows readable as ``lakemerge_feed``."""
        frame_of_agate(self.handle.spark, table, column_types).createOrReplaceTempView(FEED)

    @available.parse_none
    def feed_columns(self) -> list[str]:
        """The names of the feed's columns."""
        return list(self.handle.spark.table(FEED).columns)

    @available.parse_none
    def materialize(self, view: str, sql: str, metrics: Mapping[str, str]) -> dict[str, Any]:
        """Compute a query once, keep its rows for the rest of the attempt, and count as it runs.

        Rows are kept in memory, on local disk where that is full. An attempt never computes them twice: a second
        run of a feed that is not deterministic would give other rows.

        Args:
            view: the temporary view to read them by.
            metrics: aggregate expressions by name.

        Returns:
            The aggregates' values by name.
        """
        with self.connections.exception_handler(sql):
            self.handle.raise_if_cancelled()
            frame, observed = observe(self.handle.spark.sql(sql), metrics)
            self.handle.keep_rows(view, frame)
            return observed.get

    @available.parse_none
    def define_view(self, view: str, sql: str) -> None:
        """Make a temporary view of a query, computed whenever it is read."""
        with self.connections.exception_handler(sql):
            self.handle.spark.sql(sql).createOrReplaceTempView(view)

    @available.parse_none
    def observe_view(self, view: str, sql: str, metrics: Mapping[str, str]) -> Observed:
        """Make a temporary view that counts as its rows are read, once; ``get`` of the result has the counts."""
        with self.connections.exception_handler(sql):
            frame, observed = observe(self.handle.spark.sql(sql), metrics)
            frame.createOrReplaceTempView(view)
        return observed

    @available.parse_none
    def rows_of(self, sql: str) -> list[Any]:
        """The rows of a small query."""
        with self.connections.exception_handler(sql):
            self.handle.raise_if_cancelled()
            return list(self.handle.spark.sql(sql).collect())

    @available.parse_none
    def may_broadcast(self, rows: int) -> bool:
        """Whether so many keys are few enough to be sent to every task."""
        return rows <= BROADCAST_KEYS

    @available.parse_none
    def raise_typed(self, kind: str, expected: str, found: str, action: str) -> None:
        """Raise one of ``lakemerge.errors`` by its name, as dbt shows errors."""
        from lakemerge import errors

        error: type[LakemergeError] = getattr(errors, kind)
        raise DbtRuntimeError(f"{kind}: {error(expected=expected, found=found, action=action)}")
