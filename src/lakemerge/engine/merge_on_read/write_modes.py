"""How readers read a table: itself, or through a view that merges its base with the deltas since."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from lakemerge.engine.macros import Macros
from lakemerge.engine.merge_on_read.after_commit import told_only
from lakemerge.engine.merge_on_read.deltas import Deltas
from lakemerge.engine.merge_on_read.overlay_view import overlay_text
from lakemerge.engine.options.write import WriteConfig
from lakemerge.engine.publish.driver import Driver
from lakemerge.engine.publish.node_transaction import NodeTransaction
from lakemerge.engine.publish.publisher import Publisher
from lakemerge.kernel import DELTAS, WRITE_MODE, Manifest, add_overlay, remove_overlay


class WriteModes:
    """Puts a view in a table's place and takes it away, each by a commit of its own that changes no row."""

    def __init__(self, publisher: Publisher[Any], macros: Macros) -> None:
        self._publisher = publisher
        self._deltas = Deltas(publisher, macros)

    def prepare(self, driver: Driver[Any]) -> None:
        """Let a table be read as its options say, before a driver runs."""
        config = driver.config
        replaces = driver.rebuild or driver.operation == "replace"
        self._publisher.clear_place(replaces)
        if self._publisher.has_view and (replaces or self._merges_otherwise(config)):
            self.remove_overlay()
        if config.always_on_read and not replaces and self._publisher.exists:
            self.add_overlay(config.merge_keys)

    def settle(self, driver: Driver[Any]) -> None:
        """Let a table be read as its options say, after a driver has published."""
        if not driver.config.always_on_read:
            return
        with told_only(self._publisher.name, "it is not merged on read yet", "The next run makes its view."):
            if self._publisher.exists:
                self.add_overlay(driver.config.merge_keys)

    def _merges_otherwise(self, config: WriteConfig) -> bool:
        """Whether the options ask for the existing view to be removed.

        It stays if it merges by their key, or if the table lacks a column of that key.
        """
        current = self._publisher.current
        overlay = current.overlay if current else None
        if current is None or overlay is None or not config.merges_on_read:
            return True
        return set(overlay.keys) != set(config.merge_keys) and _has_columns(current, config.merge_keys)

    def add_overlay(self, keys: Sequence[str]) -> None:
        """Let readers see the table through a view that merges by these columns.

        Does nothing where there is a view, or while the table lacks one of the columns: nobody could read that view.
        The merge itself adds such a column, or says what is wrong with the key.
        """
        if self._publisher.has_view:
            return

        def attempt(txn: NodeTransaction) -> None:
            base = txn.base
            assert base is not None
            if txn.overlay is not None:
                txn.skip()
                return
            if not _has_columns(base, keys):
                txn.skip()
                return
            columns = [column.name for column in (*base.columns, *base.partition_columns)]
            name = self._publisher.name
            add_overlay(txn.kernel_transaction, overlay_text(name.schema, name.name, columns, keys), keys)
            txn.commit({}, base.properties)

        self._publisher.publish(WRITE_MODE, lambda: self._publisher.begin_move(WRITE_MODE), attempt)

    def remove_overlay(self) -> None:
        """Let readers see the table itself again, with all that the deltas hold."""

        def attempt(txn: NodeTransaction) -> None:
            base = txn.base
            if base is None or txn.overlay is None:
                txn.skip()
                return
            if base.sidecars.get(DELTAS):  # another run has added some since
                txn.abort()
                self._deltas.move_into_base()
                raise txn.overtaken("that another run has added a delta")
            remove_overlay(txn.kernel_transaction)
            txn.commit({}, base.properties)

        self._deltas.move_into_base()
        self._publisher.publish(WRITE_MODE, lambda: self._publisher.begin_move(WRITE_MODE), attempt)


def _has_columns(manifest: Manifest, names: Iterable[str]) -> bool:
    found = {column.name.lower() for column in (*manifest.columns, *manifest.partition_columns)}
    return {name.lower() for name in names} <= found
