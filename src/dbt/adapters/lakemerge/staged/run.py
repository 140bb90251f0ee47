"""What the runs of this process have staged and not published: one run at a time, as dbt has it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from dbt.adapters.lakemerge import staged_names
from dbt.adapters.lakemerge.staged.rows import GlobalView
from dbt_common.invocation import get_invocation_id

from lakemerge.engine.lifecycle import Lifecycle
from lakemerge.errors import InvalidTransactionState
from lakemerge.kernel import Manifest, TableName, Transaction, leave

_CUT_OFF = "its run ended before it could publish it"


@dataclass(frozen=True)
class StagedNode:
    """What a node has staged.

    Attributes:
        unique_id: dbt's, of the node.
        rows: the view by which the run's other nodes read it.
    """

    name: TableName
    unique_id: str
    rows: GlobalView


@dataclass(frozen=True)
class StagedTable(StagedNode):
    """A version of a table.

    Attributes:
        transaction: complete, and waiting to be published.
        manifest: the version that it would make.
        life: of the commit.
        finish: what is to be done after the publication, in order, when the views are made as well.
    """

    transaction: Transaction
    manifest: Manifest
    life: Lifecycle
    finish: list[Callable[[], object]] = field(default_factory=list)

    def refresh(self) -> None:
        """Let Spark know that it is published."""
        self.life.publisher.committed = self.transaction.made
        self.life.publisher.refresh()


@dataclass(frozen=True)
class StagedView(StagedNode):
    """A view that is made when the tables are published.

    Attributes:
        statement: makes it; names the views of what is staged.
    """

    statement: str


class StagedRun:
    """What one invocation of dbt has staged; safe for threads.

    Attributes:
        invocation: dbt's id of it.
    """

    def __init__(self, invocation: str) -> None:
        self.invocation = invocation
        self._nodes: dict[TableName, StagedNode] = {}
        self._unchanged: dict[TableName, str] = {}
        self._is_over = self._dropped = False
        self._lock = threading.Lock()

    def add(self, node: StagedNode) -> None:
        """Let the run's later nodes read what a node has staged.

        Raises:
            InvalidTransactionState: the run is over, or the name is staged already.
        """
        with self._lock:
            if self._is_over or node.name in self._nodes:
                raise InvalidTransactionState(
                    expected=f"{node.name} to be staged once, before the end of the run",
                    found="that the run is over" if self._is_over else "a second version",
                    action="Build it by one model, in one commit; or set publish: at_once.",
                )
            self._nodes[node.name] = node
        staged_names.stand_in(node.name, node.rows.name)

    def replace(self, table: StagedTable) -> None:
        """Let a table be read as its node's hook has changed it."""
        with self._lock:
            self._nodes[table.name] = table
        staged_names.stand_in(table.name, table.rows.name)

    def note_unchanged(self, name: TableName, unique_id: str) -> None:
        """Note a table that is as its node wants it, so that nothing is staged; the node's hooks may change it."""
        with self._lock:
            self._unchanged[name] = unique_id

    def is_unchanged(self, name: TableName, unique_id: str) -> bool:
        """Whether a node has built a table, and staged nothing."""
        return not self._is_over and self._unchanged.get(name) == unique_id

    def find(self, name: TableName) -> StagedNode | None:
        """What is staged of a name; ``None`` where nothing is, or the run is over."""
        return None if self._is_over else self._nodes.get(name)

    @property
    def unique_ids(self) -> frozenset[str]:
        """The nodes that have staged something."""
        with self._lock:
            return frozenset(node.unique_id for node in self._nodes.values())

    @property
    def tables(self) -> list[StagedTable]:
        """The staged tables, in the order in which they were built."""
        return [node for node in self._nodes.values() if isinstance(node, StagedTable)]

    @property
    def views(self) -> list[StagedView]:
        """The staged views, in the order in which they were built."""
        return [node for node in self._nodes.values() if isinstance(node, StagedView)]

    def end(self) -> None:
        """Accept nothing more. Names keep standing for what is staged until :meth:`close`."""
        with self._lock:
            self._is_over = True

    def leave(self, reason: str) -> None:
        """Give up what is not published, and leave its files to be looked at."""
        self.end()
        for table in self.tables:
            leave(table.transaction, reason)

    def close(self) -> None:
        """Let names stand for their own tables again."""
        staged_names.clear(self.invocation)

    def drop_views(self) -> None:
        """Drop the views by which nodes have read what was staged; once, for a later run may use their names."""
        with self._lock:
            nodes, self._dropped = ([] if self._dropped else list(self._nodes.values())), True
        for node in nodes:
            node.rows.drop()


_lock = threading.Lock()
_run: StagedRun | None = None


def staged_run() -> StagedRun:
    """The run of dbt's current invocation; gives up what an earlier one has left open."""
    global _run
    invocation = str(get_invocation_id())
    with _lock:
        if _run is None or _run.invocation != invocation:
            if _run is not None:
                _run.leave(_CUT_OFF)
                _run.close()
                _run.drop_views()
            _run = StagedRun(invocation)
        return _run
