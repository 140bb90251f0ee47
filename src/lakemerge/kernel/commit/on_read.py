"""What a commit does to the view of a table that is merged on read, and to the deltas that the view merges."""

from __future__ import annotations

from collections.abc import Sequence

from lakemerge.errors import InvalidTransactionState, UnsupportedTable
from lakemerge.kernel.commit.reads import changes_rows
from lakemerge.kernel.commit.transaction import Transaction
from lakemerge.kernel.commit.updates import SetOverlay
from lakemerge.kernel.table.manifest import Manifest
from lakemerge.kernel.table.manifests import commits
from lakemerge.kernel.table.overlay import DELTAS, FOLDED, Overlay, base_name
from lakemerge.kernel.table.side_tables import check_side_table


def add_overlay(transaction: Transaction, text: str, keys: Sequence[str]) -> None:
    """Let readers see the table through a view, which merges its base with the deltas that commits add.

    The table's row gets the name ``<table>__base``, the deltas are published as ``<table>__deltas``.

    Args:
        text: the view's query, with :data:`NAMED` where the names of the deltas go.
        keys: the columns by which it merges.

    Raises:
        UnsupportedTable: another table has one of these names, or the metastore does not take the view.
    """
    transaction._require_open()
    name, tables, part = transaction.name, transaction._tables, transaction._commit
    base = base_name(name)
    if tables.metastore.get_table(base) is not None:
        raise UnsupportedTable(
            expected=f"no table {base}, the name of the base of {name} when it is merged on read",
            found="a table of that name",
            action="Rename it or drop it; or give the model another alias.",
        )
    rolling = tables.roll_forward
    check_side_table(tables.metastore, name, DELTAS)
    overlay = Overlay(name.name, base.name, text, tuple(keys), transaction.txn)
    rolling.overlays.probe(name, overlay, (*part.schema.columns, *part.schema.partition_columns))
    part.updates.append(SetOverlay(overlay))


def mark_folded(transaction: Transaction, folders: Sequence[str], left: Sequence[str] = ()) -> None:
    """Record that, by this commit, other deltas or the base hold what these folders of deltas hold.

    The view no longer names these folders. Queries that have read its text before can read them until they are retired.

    Args:
        folders: as :attr:`Manifest.sidecars` has them.
        left: URIs of new deltas, with what the base does not hold of these folders.
    """
    assert transaction.base is not None, "there is a base"
    stay = [one for one in transaction.base.sidecars.get(DELTAS, ()) if one not in folders]
    absolute = transaction.layout.absolute
    transaction.set_sidecars(DELTAS, [*map(absolute, stay), *left], keep_later=True, concerns=())
    for folder in folders:
        transaction.add_sidecar(FOLDED, absolute(folder), concerns=())


def only_moved_since(transaction: Transaction, before: Manifest) -> bool:
    """Whether rows were only moved between a version and a transaction's base, and the transaction allows this.

    See :meth:`Transaction.let_rows_move`.
    """
    base, files = transaction.base, transaction._tables.files
    if base is None or transaction._commit.reads.places:
        return False
    for step in commits(files, transaction.layout, base):
        if step.txn == before.txn:
            return True
        if changes_rows(step) or step.overlay != before.overlay or not step.same_shape(before):
            return False
    return False


def remove_overlay(transaction: Transaction) -> None:
    """Let readers see the table itself again.

    A delta that is added meanwhile is a conflict.

    Raises:
        InvalidTransactionState: there are deltas that the base does not hold.
    """
    transaction._require_open()
    base = transaction.base
    if base is None or base.overlay is None or base.sidecars.get(DELTAS):
        raise InvalidTransactionState(
            expected=f"{transaction.name} to be merged on read, with a base that holds all its deltas",
            found="deltas that it does not hold" if transaction.overlay else "a table without a view",
            action="Compact the deltas into the base table first.",
        )
    transaction.read_side_data(DELTAS)
    transaction.set_sidecars(FOLDED, [], keep_later=True, concerns=())
    transaction._commit.updates.append(SetOverlay(None))
