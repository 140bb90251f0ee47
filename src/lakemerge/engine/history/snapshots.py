"""How a snapshot's source is merged into its table: the facts for the SQL."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lakemerge.engine.history.layout import HistoryLayout
from lakemerge.engine.publish.node_transaction import NodeTransaction
from lakemerge.engine.relations.table_schema import ColumnPlan
from lakemerge.engine.sql_text import quote
from lakemerge.errors import IncompatibleColumn, InvalidConfig

# Properties of the versions that a snapshot commits.
#: The values of `dbt_valid_to` that current rows have had, besides null.
VALID_TO_CURRENT = "valid_to_current"
#: Whether keys may have closed rows only: "none" or "some".
ENDED_KEYS = "ended_keys"

_HARD_DELETES = ("ignore", "invalidate", "new_record")


@dataclass(frozen=True)
class SnapshotPlan:
    """Everything that the snapshot's macros need to know.

    Attributes:
        unique_key: the key as configured, for messages.
        keys: names of the columns that hold the key's parts while the snapshot runs, as dbt names them.
        columns: the table's.
        names: quoted names of dbt's columns in the table, by dbt's own: ``dbt_valid_from``…
        current_values: SQL of the values besides null that ``dbt_valid_to`` has in current rows; those of earlier
            configurations too, since a row with one of them is still current.
        valid_to_current: the one of them that new rows get; ``null`` for none.
        sees_deletes: whether a key that the source lacks counts as deleted.
        is_adopted: whether the previous version does not record such values.
        may_have_ended: whether keys may have closed rows and no current one.
        run_time: SQL of the time of this run in the type of the validity columns; null if it has none.
    """

    table: str
    exists: bool
    unique_key: str
    keys: tuple[str, ...]
    columns: tuple[ColumnPlan, ...]
    names: Mapping[str, str]
    current_values: tuple[str, ...]
    valid_to_current: str
    hard_deletes: str
    sees_deletes: bool
    is_adopted: bool
    may_have_ended: bool
    run_time: str
    layout: HistoryLayout

    @property
    def partitions(self) -> tuple[ColumnPlan, ...]:
        return tuple(column for column in self.columns if column.is_partition)

    def is_layout_column(self, column: ColumnPlan) -> bool:
        """Whether a column says where its row lies."""
        return self.layout.split and column.name == self.layout.partition

    @property
    def reads(self) -> list[str] | None:
        """The partitions that this commit depends on, beside new ones; ``None`` for all."""
        if not self.layout.split:
            return None
        names = self.layout.open_partitions
        return [*names, *(self.layout.closes_into(name) for name in names)]

    @property
    def is_current(self) -> str:
        """SQL that is true for a current row of the table, over its columns."""
        valid_to = self.names["dbt_valid_to"]
        return (
            f"({' or '.join([f'{valid_to} is null', *(f'{valid_to} = {x}' for x in self.current_values)])})"
        )

    @property
    def marks_deletes(self) -> bool:
        return self.hard_deletes == "new_record"

    @property
    def is_deleted(self) -> str:
        """The quoted name of the column that marks deletions; empty if the table has none."""
        name = self.names["dbt_is_deleted"]
        return name if any(column.quoted == name for column in self.columns) else ""

    def properties(self, rows: int | None, ended: int) -> dict[str, Any]:
        """What this commit records for later ones.

        Args:
            rows: the number of rows after it, if known.
            ended: how many keys it left without a current row.
        """
        some = self.may_have_ended or bool(ended)
        return {
            "rows": rows,
            VALID_TO_CURRENT: list(self.current_values),
            ENDED_KEYS: "some" if some else "none",
        }

    @classmethod
    def make(
        cls,
        transaction: NodeTransaction,
        strategy: Mapping[str, Any],
        run_time: str,
        layout: HistoryLayout,
    ) -> SnapshotPlan:
        """Plan a snapshot.

        Args:
            strategy: what `lakemerge_snapshot_strategy` returned.
            run_time: SQL of the time of the run.
            layout: as the model's config asks for it.

        Raises:
            IncompatibleColumn: deletions are recorded, but the validity columns hold no time.
        """
        unique_key, names = strategy["unique_key"], strategy["column_names"]
        valid_to_current = strategy["valid_to_current"]
        several = not isinstance(unique_key, str)
        keys = (
            [f"dbt_unique_key_{n}" for n in range(1, len(unique_key) + 1)] if several else ["dbt_unique_key"]
        )
        taken = [column.name for column in transaction.plan.columns if column.name in keys]
        if taken:
            raise IncompatibleColumn(
                expected="a source without the columns in which a snapshot keeps its key while it runs",
                found=", ".join(taken),
                action="Give them other names in the snapshot's query.",
            )
        quoted = {name: quote(str(own).lower()) for name, own in names.items()}
        types = {column.quoted: column.type for column in transaction.plan.columns}
        hard_deletes = _hard_deletes(strategy)
        kind = types[quoted["dbt_valid_from"]]
        if hard_deletes != "ignore" and not _holds_time(kind):
            raise IncompatibleColumn(
                expected=f"updated_at to be a time, for hard_deletes '{hard_deletes}' records when a row disappeared",
                found=f"the type {kind}",
                action="Cast it to a timestamp in the snapshot's query, or set hard_deletes: ignore.",
            )
        known = transaction.base.properties if transaction.base else {}
        earlier = list(known.get(VALID_TO_CURRENT) or ())
        present = (
            [] if not valid_to_current else [f"cast({valid_to_current} as {types[quoted['dbt_valid_to']]})"]
        )
        return cls(
            table=transaction.table,
            exists=transaction.exists,
            unique_key=", ".join(unique_key) if several else unique_key,
            keys=tuple(keys),
            columns=transaction.plan.columns,
            names=quoted,
            current_values=tuple(dict.fromkeys([*present, *earlier])),
            valid_to_current=present[0] if present else "null",
            hard_deletes=hard_deletes,
            sees_deletes=hard_deletes != "ignore" and transaction.reads_all,
            is_adopted=transaction.exists and VALID_TO_CURRENT not in known,
            may_have_ended=transaction.exists and known.get(ENDED_KEYS) != "none",
            run_time=f"cast({run_time.strip() if _holds_time(kind) else 'null'} as {kind})",
            layout=layout.of_table(transaction.base),
        )


def _hard_deletes(strategy: Mapping[str, Any]) -> str:
    """The strategy's policy for rows that are gone from the source; older strategies have a flag."""
    given = strategy.get("hard_deletes")
    if given is None:
        return "invalidate" if strategy.get("invalidate_hard_deletes") else "ignore"
    if given not in _HARD_DELETES:
        raise InvalidConfig(
            expected=f"hard_deletes to be one of {', '.join(_HARD_DELETES)}",
            found=repr(given),
            action="Correct it.",
        )
    return str(given)


def _holds_time(kind: str) -> bool:
    return kind.startswith(("timestamp", "date", "string", "varchar"))
