"""A table that is changed without its model, by the rules that the model has recorded."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lakemerge.engine.lifecycle import Lifecycle
from lakemerge.engine.macros import Macros
from lakemerge.engine.merge.merge_options import MergeConfig
from lakemerge.engine.merge_on_read.after_commit import told_only
from lakemerge.engine.options.write import WriteConfig
from lakemerge.engine.publish.driver import Counts, Driver
from lakemerge.engine.publish.feeds import FEED
from lakemerge.engine.publish.node_transaction import NodeTransaction
from lakemerge.engine.publish.publisher import Publisher
from lakemerge.engine.spark.handle import SessionHandle
from lakemerge.engine.sql_text import quote
from lakemerge.engine.strategies import INCREMENTAL
from lakemerge.errors import UnsupportedTable
from lakemerge.kernel import Kernel, TableName, Transaction, find_row
from lakemerge.table_rules import RULES, TableRules

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: The place of a change among those that are committed with it: of a key's changes, the latest counts.
ORDER = "__lakemerge_order"
#: Whether a change deletes its key.
DELETES = "__lakemerge_deletes"
#: Whether a change ends all rows up to its sequence.
TRUNCATES = "__lakemerge_truncates"
# The options of a merge that read these columns.
_OPTIONS = {ORDER: "change_order", DELETES: "apply_as_deletes", TRUNCATES: "apply_as_truncates"}

#: Takes what was staged for a table.
HandOver = Callable[[Transaction], None]


@dataclass(frozen=True)
class Staged:
    """What was staged for a table, the driver that staged it, and the counts of what it does to the rows."""

    driver: Driver[Any]
    txn: NodeTransaction
    counts: Counts

    @classmethod
    def by(cls, driver: Driver[Any]) -> Staged:
        """What one attempt of a driver stages, whose publisher commits later."""
        txn = driver.begin()
        return cls(driver, txn, driver.attempt(txn))

    def tidy(self) -> None:
        """Do the work that follows a commit, such as compaction; a later commit retries what fails."""
        publisher = self.driver.publisher
        left = "the commit succeeded, so do not repeat it; its view or compaction was not updated"
        with told_only(publisher.name, left, "A later commit does it."):
            publisher.note(self.txn)
            Lifecycle(self.driver).follow()  # a truncate takes the view away


class WithoutRules(UnsupportedTable):
    """Nothing says by which rules a table is changed."""


class RuledTable:
    """A table as its model and its newest version describe it at the moment when this object is made.

    Attributes:
        name: the table.
        strategy: ``merge`` or ``append``.
        config: the model's options that matter to a change.
        constraints: SQL over the table's columns that finds the rows which break a constraint, by its name.
        stored: the table's own columns and their types, as the metastore has them.
        hidden: columns that a change has and the table lacks, because only the sequence reads them, with Spark's types.
        partition_columns: all partition columns, the number of the commit included.
        partitions: names of those among :attr:`stored`.
        sequence: names of the columns that the sequence reads.
        file_format: ``orc`` or ``parquet``.
    """

    def __init__(self, kernel: Kernel, spark: SparkSession, name: TableName) -> None:
        """
        Raises:
            WithoutRules: its model has recorded none.
            TableNotFound, UnsupportedTable, ClaimHeld: it cannot be written.
        """
        self.name = name
        self._kernel = kernel
        state, manifest = kernel.settled(name)
        rules = _rules(kernel, name, state.commit_column)
        self._rules = rules
        self._schema = _schema_of(manifest)
        self._table_id = manifest.table_id
        self.strategy = rules.strategy
        self.constraints = rules.constraints
        self.config = INCREMENTAL[rules.strategy].options.of(rules.options)
        self.file_format = manifest.file_format
        read = _columns_read(spark, rules.options.get("sequence_by", ()))
        self.stored = {
            column.name: column.type
            for column in (*manifest.columns, *manifest.partition_columns)
            if column.name != state.commit_column and column.name not in rules.feed
        }
        # of the columns that the model gives and the table lacks, a change needs only those that the sequence reads
        self.hidden = {column: kind for column, kind in rules.feed.items() if column in read}
        self.partition_columns = tuple(manifest.partition_columns)
        self.partitions = [column.name for column in self.partition_columns if column.name in self.stored]
        self.sequence = read & set(self.columns)

    @property
    def columns(self) -> dict[str, str]:
        """The types of the columns that a change may have, by name."""
        return {**self.stored, **self.hidden}

    @property
    def keys(self) -> tuple[str, ...]:
        """The key's columns; none for a table that rows are appended to."""
        return self.config.merge_keys

    @property
    def updates_whole_rows(self) -> bool:
        """Whether a change brings every column of its row."""
        if not isinstance(self.config, MergeConfig):
            return True
        listed = self.config.merge_update_columns or self.config.merge_exclude_columns
        return not (self.config.ignore_null_updates or listed)

    @property
    def shows_whole_rows(self) -> bool:
        """Whether a change alone shows the row that it makes."""
        brings_all = not (isinstance(self.config, MergeConfig) and self.config.unavailable_value)
        return self.updates_whole_rows and brings_all

    @property
    def new_row_columns(self) -> list[str]:
        """The columns that a change which inserts or updates must have."""
        coalesces = isinstance(self.config, MergeConfig) and self.config.ignore_null_updates
        return self._with_sequence(self.keys if coalesces else self.stored)

    @property
    def delete_columns(self) -> list[str]:
        """The columns that a change which deletes must have."""
        return self._with_sequence(self.keys)

    def _with_sequence(self, columns: Iterable[str]) -> list[str]:
        required = list(columns)
        return [*required, *sorted(self.sequence - set(required))]

    # -- merging -------------------------------------------------------------------------------

    def change(self) -> str | None:
        """What the table has become since this object was made, in words; ``None`` if columns and rules are the same.

        Raises:
            UnsupportedTable: its model has another strategy by now.
        """
        state, manifest = self._kernel.settled(self.name)
        if manifest.table_id != self._table_id:
            return "a new table of that name"
        if _schema_of(manifest) != self._schema:
            return "other columns"
        other = self._rules.differences(_rules(self._kernel, self.name, state.commit_column))
        return f"other rules of its model ({', '.join(other)})" if other else None

    def stage(self, handle: SessionHandle, macros: Macros, feed: DataFrame, hand_over: HandOver) -> Staged:
        """Stage the result of some changes to the table's newest version, if they have any effect.

        Args:
            handle: a session in which no other table's changes are staged, because their views have the same names.
            feed: a frame of that session with :attr:`columns`; for a merge also with :data:`ORDER` and :data:`DELETES`,
                and with :data:`TRUNCATES` if some changes may be truncates.
            hand_over: gets the staged transaction.

        Raises:
            CommitConflict: the table has moved on; stage it again.
            LakemergeError: the changes break a rule of the table.
        """
        feed.createOrReplaceTempView(FEED)
        publisher = Publisher(
            handle,
            self._kernel,
            self.name,
            self._config_of(feed.columns),
            constraints=self.constraints,
            commit=hand_over,
        )
        return Staged.by(INCREMENTAL[self.strategy].driver_for(self.config)(publisher, macros))

    def _config_of(self, columns: Iterable[str]) -> WriteConfig:
        """The model's options, and those that read the columns in which a feed describes its changes."""
        if not isinstance(self.config, MergeConfig):
            return self.config
        own = [name for name in _OPTIONS if name in columns]
        options: dict[str, Any] = {_OPTIONS[name]: quote(name) for name in own}
        return dataclasses.replace(self.config, except_column_list=(*self.hidden, *own), **options)


def rules_of(kernel: Kernel, name: TableName, commit_column: str) -> TableRules | None:
    """The rules that the commits of a table have recorded; ``None`` where there are none.

    Args:
        commit_column: the table's; one that has it is appended to, even if nothing is recorded.
    """
    row = find_row(kernel.metastore, name)
    text = row.parameters.get(RULES) if row else None
    if text:
        return TableRules.of_text(text, name)
    if commit_column:
        return TableRules("append", {"append_layout": "commit_partitioned", "commit_column": commit_column})
    return None


def keeps_history(rules: TableRules) -> bool:
    """Whether a table has a row for each version of a key, so that its rows cannot be told by their key."""
    return str(rules.options.get("stored_as_scd_type")) == "2"


def _rules(kernel: Kernel, name: TableName, commit_column: str) -> TableRules:
    """The rules of a table. Raises WithoutRules where there are none."""
    rules = rules_of(kernel, name, commit_column)
    if rules is not None and not keeps_history(rules):
        return rules
    raise WithoutRules(
        expected=f"{name} to say by which key it is merged, or that rows are appended to it",
        found="a history, or a table of a model with another strategy, or not written since by a model that records it",
        action="Use a model with the strategy merge (stored_as_scd_type 1) or append; if it is one, run it once.",
    )


def _schema_of(manifest: Any) -> tuple[Any, ...]:
    return tuple((column.name, column.type) for column in (*manifest.columns, *manifest.partition_columns))


def _columns_read(spark: SparkSession, expressions: Iterable[str]) -> set[str]:
    """The columns that some expressions are made of, in lower case."""
    parser = spark._jsparkSession.sessionState().sqlParser()
    found = set()
    for expression in expressions:
        leaves = parser.parseExpression(expression).collectLeaves()
        for leaf in (leaves.apply(place) for place in range(leaves.size())):
            if leaf.getClass().getSimpleName() == "UnresolvedAttribute":
                found.add(str(leaf.nameParts().apply(0)).lower())
    return found
