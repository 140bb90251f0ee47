"""Commits on plain Hive tables. Importable without dbt and without a Spark session."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dbt.adapters.lakemerge.transactions.transaction import Transaction
    from pyspark.sql import SparkSession

    from lakemerge.errors import LeaseLost


def transaction(
    *tables: str,
    spark: SparkSession | None = None,
    on_lease_lost: Callable[[LeaseLost], object] | None = None,
    max_attempts: int = 10,
) -> Transaction:
    """Change several tables by one commit: all of it becomes visible together, or nothing.

    ::

        with lakemerge.transaction("shop.orders", "shop.stock") as t:
            t.upsert("shop.orders", [{"order_id": 7, "product": "lamp", "quantity": 2}])
            t.delete("shop.stock", [{"product": "lamp", "place": "A1"}])

    Args:
        tables: of dbt models with the strategy ``merge`` or ``append``, as ``schema.table``.
        spark: a session with Hive support; the active one by default.
        on_lease_lost: told once, in another thread, if the transaction cannot commit any more because it gave no sign
            of life for too long. Stop sending changes then.
        max_attempts: how often the changes are merged when other commits come first.

    Raises:
        SparkApplicationMismatch: there is no active session, or it has no Hive support.
        InvalidConfig: no table is named.
    """
    from dbt.adapters.lakemerge.transactions.transaction import Transaction, active_session

    return Transaction(
        tables,
        spark or active_session(),
        on_lease_lost=on_lease_lost,
        max_attempts=max_attempts,
    )
