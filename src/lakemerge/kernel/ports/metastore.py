"""The port to a Hive metastore: what the kernel asks of one, in Python's own values.

Reads are repeated when the connection breaks, and so are the writes that may be done twice. Other writes are not: a
broken connection leaves their outcome unknown. They raise :class:`ReplyLost` then, so that the caller looks before
it decides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from lakemerge.errors import MetastoreError
from lakemerge.kernel.ports.names import TableName

#: The parameter that says when a table's row was made or altered last, in seconds. The metastore sets it in rows that
#: come without it.
DDL_TIME = "transient_lastDdlTime"


class ReplyLost(MetastoreError):
    """A write was sent and no answer came: it may have succeeded."""

    retriable = True


class Refused(MetastoreError):
    """The metastore answered with an error: the write did not happen.

    Attributes:
        kind: the simple name of Hive's exception, such as ``NoSuchObjectException``.
    """

    def __init__(self, call: str, kind: str, text: str) -> None:
        self.kind = kind
        super().__init__(
            expected=f"the metastore to accept {call}",
            found=f"{kind}: {text}",
            action="Correct what the message names, and run again.",
        )


class ValueChanged(Refused):
    """A compare-and-swap found another value than the expected one."""

    retriable = True


@dataclass(frozen=True)
class HiveColumn:
    """A column as the metastore keeps it: name in lower case, Hive type, comment (may be empty)."""

    name: str
    type: str
    comment: str = ""


@dataclass(frozen=True)
class Storage:
    """How the files of a table or a partition are found and read (Hive's ``StorageDescriptor``).

    Attributes:
        columns: without the partition columns.
        location: URI; empty for a view.
        buckets: their number; not above 0 for none.
        rest: what else the metastore keeps, in its client's own form; handed back as it came.
    """

    columns: tuple[HiveColumn, ...] = ()
    location: str = ""
    input_format: str = ""
    output_format: str = ""
    serde: str = ""
    serde_parameters: Mapping[str, str] = field(default_factory=dict)
    buckets: int = -1
    rest: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True)
class HiveTable:
    """The row of a table or view.

    To change one, hand a copy (``dataclasses.replace``) to :meth:`Metastore.alter_table`.

    Attributes:
        kind: ``MANAGED_TABLE``, ``EXTERNAL_TABLE`` or ``VIRTUAL_VIEW``.
        view_text: the query of a view.
        created: when the metastore made it, in whole seconds of its clock; 0 if that is not known.
        rest: as of :class:`Storage`.
    """

    name: TableName
    kind: str
    storage: Storage
    partition_columns: tuple[HiveColumn, ...] = ()
    parameters: Mapping[str, str] = field(default_factory=dict)
    owner: str = ""
    view_text: str = ""
    created: int = field(default=0, compare=False)
    rest: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def columns(self) -> tuple[HiveColumn, ...]:
        """Without the partition columns."""
        return self.storage.columns

    @property
    def location(self) -> str:
        return self.storage.location

    @property
    def partitioned(self) -> bool:
        return bool(self.partition_columns)


@dataclass(frozen=True)
class HivePartition:
    """The row of a partition.

    Attributes:
        values: unescaped, in the order of the partition columns.
        rest: as of :class:`Storage`.
    """

    values: tuple[str, ...]
    storage: Storage
    parameters: Mapping[str, str] = field(default_factory=dict)
    rest: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def location(self) -> str:
        return self.storage.location


@dataclass(frozen=True)
class TableSummary:
    """A row of ``getTableMeta``: name, kind (``TableType``) and comment."""

    name: str
    kind: str
    comment: str


class Metastore(Protocol):
    """A client of one metastore; safe for threads.

    Attributes:
        compares: whether the metastore honours compare-and-swap; ``None`` until somebody has found out.
    """

    compares: bool | None

    # -- tables --------------------------------------------------------------------------------

    def get_table(self, name: TableName) -> HiveTable | None:
        """The table or view, or ``None``."""

    def tables(self, schema: str, names: Sequence[str]) -> list[HiveTable]:
        """The tables of these names that exist, in one call."""

    def table_summaries(self, schema: str, pattern: str = "*") -> list[TableSummary]:
        """The tables and views of a schema, in one call; empty where there is no such schema.

        Args:
            pattern: of their names, in which ``*`` stands for any text.
        """

    def function_names(self, schema: str) -> list[str]:
        """The functions of a schema; none where there is no such schema."""

    def database_location(self, schema: str) -> str:
        """The URI of a database's directory."""

    def create_table(self, table: HiveTable) -> None:
        """Create a table. Raises Refused (kind ``AlreadyExistsException``) where there is one of the name."""

    def alter_table(
        self, name: TableName, table: HiveTable, *, expected: tuple[str, str] | None = None
    ) -> None:
        """Put another row in the place of the table's, if parameter ``expected[0]`` still has the value
        ``expected[1]``. A row of another name renames the table; its files stay if its location is another too.

        Raises:
            ValueChanged: the parameter has another value; nothing was changed.
            ReplyLost: the outcome is unknown.
        """

    def drop_table(self, name: TableName) -> None:
        """Remove the table's row and nothing of its files; no error where there is none."""

    # -- partitions ----------------------------------------------------------------------------

    def partition_names(self, name: TableName) -> list[str]:
        """The names of all partitions, escaped: ``d=1/c=a%2Fb``."""

    def partitions(self, name: TableName, names: Sequence[str]) -> list[HivePartition]:
        """The partitions of these names, those that exist, in one call."""

    def add_partitions(self, name: TableName, partitions: Sequence[HivePartition]) -> int:
        """Register partitions in one metastore transaction, skipping those that exist; returns how many were new."""

    def alter_partitions(self, name: TableName, partitions: Sequence[HivePartition]) -> None:
        """Replace the rows of partitions in one metastore transaction: all or none."""

    def drop_partition(self, name: TableName, values: Sequence[str]) -> None:
        """Remove a partition's row and nothing of its files; no error where there is none."""

    def require_values(self, values: Sequence[str]) -> None:
        """Make sure that the metastore's settings allow values of partition columns. Raises Refused if they do not."""
        return  # most have no such settings

    # -- column statistics ---------------------------------------------------------------------

    def delete_table_column_statistics(self, name: TableName) -> None:
        """Forget Hive's column statistics of an unpartitioned table."""

    def delete_partition_column_statistics(
        self, name: TableName, partitions: Sequence[str], columns: Sequence[str]
    ) -> None:
        """Forget Hive's column statistics of these partitions, those that have any."""

    # -- locks, for metastores that do not compare -----------------------------------------------

    def lock(self, name: TableName, *, user: str, host: str) -> int:
        """Ask for an exclusive lock on a table; returns its id, acquired or waiting.

        Args:
            user: who asks; unique, so that a lock whose reply was lost can be found and given back.
        """

    def lock_acquired(self, lock_id: int) -> bool:
        """Whether a lock is held by now."""

    def unlock(self, lock_id: int) -> None:
        """Give a lock back. Raises Refused where it had timed out."""

    # -- what this metastore can do ------------------------------------------------------------

    def probe_compare_and_swap(self, name: TableName) -> bool:
        """Whether ``alter_table`` honours an expected value, tried on an existing table that is left as it is.

        Raises:
            MetastoreError: it does not, and locks do not work either.
        """
