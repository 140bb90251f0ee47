"""The deltas of a table that is merged on read: folded into one, or moved into the base."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable
from typing import Any, Literal

from lakemerge import compaction_thresholds
from lakemerge.engine.macros import Macros
from lakemerge.engine.merge_on_read.bounds import Bounds
from lakemerge.engine.merge_on_read.delta_share import Share, share_of
from lakemerge.engine.options.reader import OptionReader
from lakemerge.engine.options.write import WriteConfig
from lakemerge.engine.publish.node_transaction import NodeTransaction
from lakemerge.engine.publish.publisher import Publisher
from lakemerge.engine.spark.own_sql import run_sql
from lakemerge.kernel import (
    COMPACTION,
    DELTAS,
    FOLDED,
    CompactionLog,
    Manifest,
    mark_folded,
    mark_settled,
    retire_unread,
)

_LOG = logging.getLogger("lakemerge")

_VARIABLE = "lakemerge_compact"

#: What is done to deltas, by Hive's names: all become one (``minor``), or they move into the base (``major``).
Action = Literal["minor", "major"]
_NOTHING = Share([], [])


class Deltas:
    """The deltas of one table.

    What is done to them changes no row, and disturbs no merge: a delta that a merge adds meanwhile stays beside the
    base.
    """

    def __init__(self, publisher: Publisher[Any], macros: Macros) -> None:
        self._publisher = publisher
        self._macros = macros
        # of the newest move into the base
        self._share = _NOTHING

    # -- what there is -------------------------------------------------------------------------

    def count(self) -> int:
        """How many deltas the base does not hold."""
        return len(self._newest().sidecars.get(DELTAS, ()))

    def files(self) -> tuple[int, int]:
        """The number of the deltas' files, and their bytes."""
        kernel = self._publisher.kernel
        state, manifest = kernel.settled(self._publisher.name)
        folders = manifest.sidecars.get(DELTAS, ())
        found = [entry for folder in folders for entry in kernel.files.walk(state.layout.absolute(folder))]
        return len(found), sum(entry.size for entry in found)

    def planned(self, action: Action) -> dict[str, Any]:
        """What :meth:`compact` would do."""
        files, size = self.files()
        return {"action": action, "deltas": self.count(), "files_before": files, "bytes_before": size}

    def _newest(self) -> Manifest:
        return self._publisher.kernel.settled(self._publisher.name)[1]

    # -- by thresholds -------------------------------------------------------------------------

    def compact_when_due(self) -> None:
        """Compact after a commit: many deltas are folded into one, and large ones are moved into the base."""
        action = self._due()
        if action is not None:
            self.compact(action, "threshold")

    def _due(self) -> Action | None:
        count = self.count()
        if not count:
            return None
        many = count >= compaction_thresholds.DELTAS
        _, size = self.files()
        large = size * 100 >= compaction_thresholds.DELTAS_PERCENT * self._newest().total_bytes
        if large and (many or size >= compaction_thresholds.DELTAS_BYTES):
            return "major"
        return "minor" if many and count > 1 else None

    # -- compactions ---------------------------------------------------------------------------

    def compact(self, action: Action, reason: str, bounds: Bounds | None = None) -> dict[str, Any] | None:
        """Fold the deltas into one, or move them into the base, and log it.

        Args:
            bounds: of what is written again to move deltas.

        Returns:
            The log's record; ``None`` where there was nothing to do.
        """
        log = CompactionLog(self._publisher.kernel, self._publisher.name)
        files, size = self.files()
        before = self._newest()
        record, self._share = log.begin(log.request(action, reason), groups=1), _NOTHING
        made: list[Manifest] = []

        def note(one: Manifest) -> None:
            nonlocal record
            made.append(one)
            versions, txns = (*record.versions, one.version), (*record.txns, one.txn)
            record = log.write(dataclasses.replace(record, versions=versions, txns=txns))

        try:
            if action == "minor":
                self.fold(note)
            else:
                self.move_into_base(bounds, note)
        except BaseException as error:
            log.end(record, f"{type(error).__name__}: {error}"[:2000])
            raise
        written = [one.partitions[name] for one in made for name in one.written]
        replaced = [before.partitions.get(name) for one in made for name in one.touched]
        deltas_after, delta_bytes_after = self.files() if made else (files, size)
        record = log.end(
            dataclasses.replace(
                record,
                done=int(bool(made)),
                left=len(self._share.left),
                files_before=files + sum(one.files for one in replaced if one),
                bytes_before=size + sum(one.bytes for one in replaced if one),
                files_after=deltas_after + sum(one.files for one in written),
                bytes_after=delta_bytes_after + sum(one.bytes for one in written),
            )
        )
        return record.as_dict() if made or record.left else None

    def fold(self, made: Callable[[Manifest], None]) -> None:
        """Make one delta out of all, with the newest row of each key.

        Args:
            made: gets the version, if there was more than one delta.
        """

        def attempt(txn: NodeTransaction) -> None:
            base = txn.base
            folders = base.sidecars.get(DELTAS, ()) if base else ()
            if base is None or len(folders) < 2:
                txn.skip()
                return
            self._define_outstanding(txn)
            folded = run_sql(txn.spark, self._macros.lakemerge_folded_deltas_sql(txn))
            mark_folded(txn.kernel_transaction, folders, [txn.side_data.write(DELTAS, folded)])
            retire_unread(txn.kernel_transaction)
            txn.commit({"deltas": len(folders)}, base.properties)

        if version := self._publish(attempt):
            made(version)

    def move_into_base(
        self, bounds: Bounds | None = None, made: Callable[[Manifest], object] = lambda _: None
    ) -> None:
        """Move what the deltas hold into the base, by one commit, or by several if it is much.

        Only those partitions are rewritten whose rows a delta replaces or deletes, or to which it adds rows. For the
        partitions that a commit leaves out, one delta stays, with the keys whose rows lie in one of them or come into
        one.

        Args:
            made: gets each version.
        """
        bounds, lot = bounds or Bounds(), None
        while version := self._move_a_lot(bounds, lot):
            made(version)
            if not self._share.goes_on:
                return
            bounds, lot = bounds.without(self._share.bytes), self._share.lot
            _LOG.info(
                f"{self._publisher.name}: deltas moved into {len(self._share.taken)} partitions "
                f"({self._share.bytes:,} bytes), {len(self._share.left)} are left"
            )

    def _move_a_lot(self, bounds: Bounds, lot: int | None) -> Manifest | None:
        """Move deltas into as many partitions as one commit takes; the version, if there was anything to do."""

        def attempt(txn: NodeTransaction) -> None:
            base = txn.base
            folders = base.sidecars.get(DELTAS, ()) if base else ()
            if base is None or txn.overlay is None or not folders:
                txn.skip()
                return
            txn.kernel_transaction.read_side_data(FOLDED)
            self._define_outstanding(txn)
            share = share_of(txn, bounds, self._macros, self._publisher.queries, lot)
            self._share = share
            if share.left and not share.taken:
                txn.skip()
                return
            txn.read(share.taken)
            if share.taken:
                rows = self._macros.lakemerge_merged_partitions_sql(txn, share.taken)
                txn.stage(rows, share.taken, count=False)
            left = []
            if share.left:
                rows = self._macros.lakemerge_left_deltas_sql(txn, share.left)
                left = [txn.side_data.write(DELTAS, run_sql(txn.spark, rows).coalesce(1))]
            mark_folded(txn.kernel_transaction, folders, left)
            retire_unread(txn.kernel_transaction)
            txn.commit({"deltas": len(folders)}, base.properties)

        return self._publish(attempt)

    def _define_outstanding(self, txn: NodeTransaction) -> None:
        """Make a view of the deltas that the base does not hold: `lakemerge_deltas_to_fold`."""
        folders = txn.side_data.folders(DELTAS)
        self._publisher.queries.define_files(
            "lakemerge_deltas_to_fold", folders, txn.file_format, txn.deltas_table
        )

    def retire(self) -> Manifest | None:
        """Take away deltas that the base has held for so long that no query needs them; returns the version."""
        if not self._newest().sidecars.get(FOLDED):
            return None

        def attempt(txn: NodeTransaction) -> None:
            base, retired = txn.base, retire_unread(txn.kernel_transaction)
            if base is None or not retired:
                txn.skip()
                return
            txn.commit({"retired": retired}, base.properties)

        return self._publish(attempt)

    def _publish(self, attempt: Callable[[NodeTransaction], None]) -> Manifest | None:
        txn, _ = self._publisher.publish(COMPACTION, lambda: self._publisher.begin_move(COMPACTION), attempt)
        if txn.made is not None and txn.made.sidecars.get(FOLDED):
            mark_settled(txn.kernel_transaction)
        return txn.made


def compacts_now(config: WriteConfig, macros: Macros) -> bool:
    """Whether a compaction may follow a commit: not if the model is to have none, or this run has no time for it.

    A run with `--vars '{lakemerge_compact: false}'` leaves compactions to others.
    """
    return config.compaction != "off" and has_time_to_compact(macros)


def has_time_to_compact(macros: Macros) -> bool:
    """What the project's variable says; a node asks before it writes, so that a wrong value is an error by then.

    Raises:
        InvalidConfig: it is neither true nor false.
    """
    reader = OptionReader({_VARIABLE: macros.variable(_VARIABLE, True)}, [])
    wanted = reader.choice(_VARIABLE, "true", "false") == "true"
    reader.require_sound("valid variables of the project", "Correct it in dbt_project.yml or --vars.")
    return wanted
