"""The life of a node's commit: its table is prepared, its rows are committed, and what may follow is done."""

from __future__ import annotations

from typing import Any

from lakemerge.engine.maintenance.compaction import compact_after_commit
from lakemerge.engine.merge_on_read.write_modes import WriteModes
from lakemerge.engine.publish.driver import Driver
from lakemerge.engine.publish.publisher import Publisher
from lakemerge.engine.publish.result import CommitResult


class Lifecycle:
    """Takes a driver through the steps, at once or one at a time."""

    def __init__(self, driver: Driver[Any]) -> None:
        self._driver = driver
        self._modes = WriteModes(driver.publisher, driver.macros)

    @property
    def publisher(self) -> Publisher[Any]:
        return self._driver.publisher

    def publish(self) -> CommitResult:
        """All steps.

        Raises:
            LakemergeError, PySparkException: nothing was published.
        """
        done = self.commit()
        self.follow()
        return done

    def commit(self) -> CommitResult:
        """Let the table be read as its options say, and bring the rows into it."""
        self._modes.prepare(self._driver)
        return self._driver.run()

    def follow(self) -> None:
        """Do what follows the newest commit, in commits of its own that change no row: the view, deltas, compaction.

        What fails is logged as a warning, and a later commit does it.
        """
        self._modes.settle(self._driver)
        self._driver.tidy()
        compact_after_commit(self._driver.publisher, self._driver.macros)
