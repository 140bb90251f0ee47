"""Statements on a history that a feed forms: what a later run of its model has to know of what they have done.

A history is a function of all changes ever delivered (see docs/decisions/0054). A statement that deletes versions, or
gives them other values, takes the changes that formed them out of this function: they leave the ledger, and the ledger
says what is settled, so that they are not applied when they are delivered again.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from lakemerge.engine.history.history_options import Scd2MergeConfig
from lakemerge.engine.history.scd2_plan import Scd2Plan
from lakemerge.engine.merge.ledger import LEDGER, commit_purpose, open_ledger, write_ledger
from lakemerge.engine.statements.keys import in_feed, rows_as_feed
from lakemerge.errors import UnsupportedStatement

if TYPE_CHECKING:
    from lakemerge.engine.macros import Macros
    from lakemerge.engine.publish.node_transaction import NodeTransaction
    from lakemerge.engine.publish.queries import Queries

# The view of what a statement settles.
_SETTLED = "lakemerge_settled"
#: The view of keys that are to be forgotten, whether the table has versions of them or only the ledger has changes.
FORGOTTEN = "lakemerge_forgotten"


def history_plan(config: Scd2MergeConfig, txn: NodeTransaction, hidden: Mapping[str, str]) -> Scd2Plan:
    """How a feed with all columns of a history's versions would be merged into it.

    Args:
        hidden: columns of the model's feed that do not reach the table, with Spark's types.

    Raises:
        LedgerMismatch: the table's ledger is for another key or sequence.
    """
    columns = in_feed(txn, hidden)
    plan = Scd2Plan.make(config, columns, rows_as_feed(txn, hidden), txn.base, txn.table, txn.next_version)
    ledger = commit_purpose(txn, plan.merge.ledger)
    return dataclasses.replace(plan, merge=dataclasses.replace(plan.merge, ledger=ledger))


def require_values(plan: Scd2Plan, assigned: Iterable[str]) -> None:
    """Check that only values of versions are assigned.

    Raises:
        UnsupportedStatement: the key is, or a column that the history fills.
    """
    values = {column.name for column in plan.merge.values}
    if others := sorted(set(assigned) - values):
        raise UnsupportedStatement(
            expected=f"values of versions to be set ({', '.join(sorted(values))})",
            found=f"{', '.join(others)}: whose version it is, or from when to when it is valid",
            action="Leave it out. To move a version, delete it, and send the right changes by the feed.",
        )


def settle(
    txn: NodeTransaction,
    plan: Scd2Plan,
    config: Scd2MergeConfig,
    macros: Macros,
    queries: Queries,
    *,
    forgets: bool,
) -> None:
    """Let the ledger forget the changes of the versions that a statement has deleted or changed, and say which.

    The view ``lakemerge_changed`` has these versions.

    Args:
        forgets: whether it is to forget the keys of the view :data:`FORGOTTEN`, too.
    """
    txn.read()
    txn.side_data.read(LEDGER, None)
    known = open_ledger(txn, plan.ledger_type, config.tombstone_retention, plan.types_in_ledger)
    has_ledger = known is not None
    sql = macros.lakemerge_settled_versions_sql(plan, has_ledger, FORGOTTEN if forgets else None)
    count = queries.materialize(_SETTLED, sql, {"row_count": "count(*)"})["row_count"]
    if count:
        assert plan.merge.ledger is not None
        rows = macros.lakemerge_settled_ledger_sql(plan, has_ledger)
        write_ledger(txn, rows, plan.merge.ledger, anew=has_ledger)
