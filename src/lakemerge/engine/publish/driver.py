"""What the drivers of all capabilities have in common: attempts in, what the commit did out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar, Generic, TypeVar

from lakemerge.engine.macros import Macros
from lakemerge.engine.options.write import WriteConfig
from lakemerge.engine.publish.node_transaction import NodeTransaction
from lakemerge.engine.publish.publisher import Publisher
from lakemerge.engine.publish.result import CommitResult

C = TypeVar("C", bound=WriteConfig)

#: What an attempt did, by names such as ``inserted``.
Counts = Mapping[str, int]


class Driver(ABC, Generic[C]):
    """Brings a node's feed into its table in one commit: asks macros for SQL, runs it, and commits.

    ``C`` is the class of its options.

    Attributes:
        operation: what the commit is called, in the manifest and in the result line.
    """

    operation: ClassVar[str]

    def __init__(self, publisher: Publisher[C], macros: Macros, *, rebuild: bool = False) -> None:
        """
        Args:
            rebuild: put a new table in the place of what is there, whatever its schema.
        """
        self.publisher = publisher
        self.queries = publisher.queries
        self.config = publisher.config
        self.macros = macros
        self.rebuild = rebuild

    def run(self) -> CommitResult:
        """Make attempts until one is not overtaken by another commit.

        Raises:
            LakemergeError, PySparkException: nothing was published.
        """
        txn, counts = self.publisher.publish(self.operation, self.begin, self.attempt)
        return CommitResult(self.operation, txn.version, counts, self.remarks, is_staged=txn.is_staged)

    def tidy(self) -> None:
        """Do what pays off from time to time after a commit, in commits of its own that change no row."""

    @property
    def remarks(self) -> tuple[str, ...]:
        """What the result line says besides the counts."""
        return ()

    def begin(self) -> NodeTransaction:
        """The transaction of an attempt."""
        return self.publisher.begin(self.operation, rebuild=self.rebuild)

    @abstractmethod
    def attempt(self, txn: NodeTransaction) -> Counts:
        """Stage the rows and commit them, or skip the transaction where there is nothing to write.

        Raises:
            CommitConflict: another commit came first; the next attempt begins on what it left.
        """


def rows_after(txn: NodeTransaction, inserted: int, deleted: int = 0) -> dict[str, int | None]:
    """What a commit records about its rows for later ones: their number, if the number before it is known."""
    before = txn.rows_before
    return {"rows": None if before is None else before + inserted - deleted}
