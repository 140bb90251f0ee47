"""Every kind of commit, each with the table that it starts from and the steps at which it can be killed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kernel.support import (
    COLUMNS,
    KEYS,
    NO_RETENTION,
    OTHER_KEYS,
    WIDER_COLUMNS,
    add_delta,
    add_overlay,
    add_plain_partition,
    append,
    compact,
    create,
    create_appendable,
    ingest,
    locations,
    make_plain,
    merge,
    move_into_base,
    replay,
    stage,
)
from lakemerge.kernel import (
    HiveColumn,
    Kernel,
    TableName,
    find_version,
    remove_overlay,
    retire_folded,
)
from lakemerge.kernel.maintenance.drop import drop
from lakemerge.kernel.maintenance.vacuum import vacuum

_OLD = {"p=1": ["a1"], "p=2": ["a2", "b2"], "p=gone": ["a3"], "p=a%2Fb": ["a4"]}
_PREFACE = ("staged", "manifest written", "claimed")
_SWAP = ("registered", "swapped", "dropped", "settled")
_SIDE, _SHOWN = "side data published", "deltas shown"
_LAY = ("table renamed", "view made", "settled")
_REBUILD = ("row prepared", "row moved", "settled")


@dataclass(frozen=True)
class Kind:
    """A kind of commit.

    Attributes:
        prepare: makes the old state.
        run: does the commit.
        steps: the named steps that the commit goes through.
    """

    prepare: Callable[[Kernel, TableName], None]
    run: Callable[[Kernel, TableName], None]
    steps: tuple[str, ...]


def _nothing(kernel: Kernel, name: TableName) -> None:
    return None


def _partitioned(kernel: Kernel, name: TableName) -> None:
    create(kernel, name, _OLD)
    merge(kernel, name, {"p=1": ["a1", "b1"]})


def _whole(kernel: Kernel, name: TableName) -> None:
    create(kernel, name, {"": ["a", "b"]})
    merge(kernel, name, {"": ["a", "b", "c"]})


def _plain(kernel: Kernel, name: TableName) -> None:
    make_plain(kernel, name, _OLD)


def _plain_whole(kernel: Kernel, name: TableName) -> None:
    make_plain(kernel, name, {"": ["a", "b"]})


def _written_by_others(kernel: Kernel, name: TableName) -> None:
    _partitioned(kernel, name)
    kernel.files.write_text(f"{locations(kernel, name)['p=2']}/foreign.orc", "c2")
    root = kernel.default_root(name)
    kernel.files.write_text(f"{root}/p=hand/foreign.orc", "h")
    add_plain_partition(kernel, name, "p=hand", f"{root}/p=hand")
    kernel.metastore.drop_partition(name, ["gone"])


def _create(kernel: Kernel, name: TableName) -> None:
    create(kernel, name, {"p=1": ["a1"], "p=2": ["a2"]})


def _create_whole(kernel: Kernel, name: TableName) -> None:
    create(kernel, name, {"": ["a"]})


def _swap(kernel: Kernel, name: TableName) -> None:
    txn = kernel.begin(name, "merge")
    txn.read(["p=1", "p=gone", "p=new"])
    stage(kernel, txn, {"p=1": ["new1"], "p=new": ["new2"], "p=c%3Dd": ["new3"]})
    txn.remove(["p=gone"])
    txn.commit()


def _swap_whole(kernel: Kernel, name: TableName) -> None:
    merge(kernel, name, {"": ["new"]})


def _widen(kernel: Kernel, name: TableName) -> None:
    txn = kernel.begin(name, "merge")
    txn.read(["p=1"])
    stage(kernel, txn, {"p=1": ["new1"], "p=new": ["new2"]})
    txn.set_schema(WIDER_COLUMNS)
    txn.commit()


def _widen_whole(kernel: Kernel, name: TableName) -> None:
    txn = kernel.begin(name, "merge")
    txn.read()
    stage(kernel, txn, {"": ["new"]})
    txn.set_schema(WIDER_COLUMNS)
    txn.commit()


def _appendable(kernel: Kernel, name: TableName) -> None:
    create_appendable(kernel, name, {"p=1": ["a1"], "p=a%2Fb": ["a2"]})
    append(kernel, name, {"p=1": ["b1", "b2"]})


def _append(kernel: Kernel, name: TableName) -> None:
    append(kernel, name, {"p=1": ["c1"], "p=new": ["c2"]})


def _append_wider(kernel: Kernel, name: TableName) -> None:
    txn = kernel.begin(name, "append")
    stage(kernel, txn, {"p=1/c=__HIVE_DEFAULT_PARTITION__": ["wide"]})
    txn.set_schema(WIDER_COLUMNS)
    txn.commit()


def _compact(kernel: Kernel, name: TableName) -> None:
    compact(kernel, name)


def _ingested(kernel: Kernel, name: TableName) -> None:
    create_appendable(kernel, name, {"p=1": ["a1"]})
    ingest(kernel, name, {"p=1": ["b1"]}, "bad 1")
    ingest(kernel, name, {"p=1": ["c1"]}, "bad 2")


def _ingest_first(kernel: Kernel, name: TableName) -> None:
    ingest(kernel, name, {"p=1": ["c1"], "p=new": ["c2"]}, "bad 1")


def _ingest(kernel: Kernel, name: TableName) -> None:
    ingest(kernel, name, {"p=1": ["d1"], "p=new": ["d2"]}, "bad 3")


def _ingest_rejected(kernel: Kernel, name: TableName) -> None:
    ingest(kernel, name, {}, "bad 3")


def _replay(kernel: Kernel, name: TableName) -> None:
    replay(kernel, name, {"p=1": ["bad 1, mended"]}, "bad 2")


def _on_read(kernel: Kernel, name: TableName) -> None:
    _partitioned(kernel, name)
    add_overlay(kernel, name)
    add_delta(kernel, name, "delta 1")


def _on_read_whole(kernel: Kernel, name: TableName) -> None:
    _whole(kernel, name)
    add_overlay(kernel, name)
    add_delta(kernel, name, "delta 1")


def _folded(kernel: Kernel, name: TableName) -> None:
    _on_read(kernel, name)
    _fold(kernel, name)


def _folded_whole(kernel: Kernel, name: TableName) -> None:
    _on_read_whole(kernel, name)
    _fold_whole(kernel, name)


def _lay(kernel: Kernel, name: TableName) -> None:
    add_overlay(kernel, name)


def _lay_with_delta(kernel: Kernel, name: TableName) -> None:
    add_overlay(kernel, name, "delta 1")


def _delta(kernel: Kernel, name: TableName) -> None:
    add_delta(kernel, name, "delta 2")


def _fold(kernel: Kernel, name: TableName) -> None:
    move_into_base(kernel, name, {"p=1": ["merged"], "p=new": ["merged too"]})


def _fold_whole(kernel: Kernel, name: TableName) -> None:
    move_into_base(kernel, name, {"": ["merged"]})


def _retire(kernel: Kernel, name: TableName) -> None:
    txn = kernel.begin(name, "compact", data_change=False)
    retire_folded(txn, txn.base.sidecars["folded_deltas"] if txn.base else ())
    txn.commit()


def _take(kernel: Kernel, name: TableName) -> None:
    txn = kernel.begin(name, "write_mode")
    remove_overlay(txn)
    txn.commit()


def _replace(*keys: HiveColumn, rows: dict[str, list[str]]) -> Callable[[Kernel, TableName], None]:
    def run(kernel: Kernel, name: TableName) -> None:
        txn = kernel.begin(name, "replace")
        txn.replace_all()
        txn.set_schema(COLUMNS, keys)
        stage(kernel, txn, rows)
        txn.commit()

    return run


def _with_ledgers(kernel: Kernel, name: TableName) -> None:
    _partitioned(kernel, name)
    for version in (3, 4):
        with kernel.begin(name, "merge") as txn:
            stage(kernel, txn, {"p=1": [f"of {version}"], f"p={version}": ["new"]})
            kernel.files.write_text(f"{txn.sidecar_directory('ledger')}/part-0.orc", f"ledger {version}")
            txn.set_sidecars("ledger", [txn.sidecar_directory("ledger")])
            txn.describe_side_data("ledger", {"of": version})
            txn.commit()


def _restore(kernel: Kernel, name: TableName) -> None:
    """Bring version 3 back as a restore does: its rows written again, its ledger by the folder that it had."""
    state, wanted = find_version(kernel, name, version=3)
    with kernel.begin(name, "restore") as txn:
        txn.read()
        stage(kernel, txn, {"p=1": ["of 3"]})
        txn.remove(["p=4"])
        txn.read_side_data("ledger")
        txn.set_sidecars("ledger", map(state.layout.absolute, wanted.sidecars["ledger"]))
        txn.describe_side_data("ledger", wanted.side_data_for["ledger"])
        txn.commit()


def _read(kernel: Kernel, name: TableName) -> None:
    txn = kernel.begin(name, "merge")
    txn.read()
    txn.abort()


def _vacuum(kernel: Kernel, name: TableName) -> None:
    vacuum(kernel, name, retention=NO_RETENTION, dry_run=False, allow_short_retention=True)


#: Commits that go through named steps.
COMMITS = {
    "create": Kind(_nothing, _create, (*_PREFACE, *_SWAP)),
    "create-whole": Kind(_nothing, _create_whole, _PREFACE),
    "swap": Kind(_partitioned, _swap, (*_PREFACE, *_SWAP)),
    "swap-adopted": Kind(_plain, _swap, (*_PREFACE, *_SWAP)),
    "swap-whole": Kind(_whole, _swap_whole, _PREFACE),
    "swap-whole-adopted": Kind(_plain_whole, _swap_whole, _PREFACE),
    "append": Kind(_appendable, _append, (*_PREFACE, "swapped", "settled")),
    "append-wider": Kind(_appendable, _append_wider, (*_PREFACE, *_SWAP)),
    "compact": Kind(_appendable, _compact, (*_PREFACE, *_SWAP)),
    "ingest-first": Kind(_appendable, _ingest_first, (*_PREFACE, _SIDE, "swapped", "settled")),
    "ingest": Kind(_ingested, _ingest, (*_PREFACE, _SIDE, "swapped", "settled")),
    "ingest-rejected": Kind(_ingested, _ingest_rejected, (*_PREFACE, _SIDE, "settled")),
    "replay": Kind(_ingested, _replay, (*_PREFACE, _SIDE, "swapped", "settled")),
    "widen": Kind(_partitioned, _widen, (*_PREFACE, *_SWAP)),
    "widen-whole": Kind(_whole, _widen_whole, _PREFACE),
    "replace": Kind(_partitioned, _replace(*KEYS, rows={"p=1": ["n1"], "p=9": ["n9"]}), (*_PREFACE, *_SWAP)),
    "rebuild": Kind(
        _partitioned,
        _replace(*OTHER_KEYS, rows={"q=1/r=x": ["n1"], "q=2/r=y": ["n2"]}),
        (*_PREFACE, *_REBUILD),
    ),
    "rebuild-to-whole": Kind(_partitioned, _replace(rows={"": ["n"]}), (*_PREFACE, *_REBUILD)),
    "rebuild-from-whole": Kind(_whole, _replace(*KEYS, rows={"p=1": ["n1"]}), (*_PREFACE, *_REBUILD)),
    "restore": Kind(_with_ledgers, _restore, (*_PREFACE, *_SWAP)),
    "lay": Kind(_partitioned, _lay, (*_PREFACE, _SIDE, *_LAY)),
    "lay-adopted": Kind(_plain, _lay, (*_PREFACE, _SIDE, *_LAY)),
    "lay-whole": Kind(_whole, _lay_with_delta, (*_PREFACE, _SIDE, *_LAY)),
    "delta": Kind(_on_read, _delta, (*_PREFACE, _SIDE, _SHOWN, "settled")),
    "delta-whole": Kind(_on_read_whole, _delta, (*_PREFACE, _SIDE, _SHOWN, "settled")),
    "fold": Kind(_on_read, _fold, (*_PREFACE, *_SWAP[:-1], _SHOWN, "settled")),
    "fold-whole": Kind(_on_read_whole, _fold_whole, (*_PREFACE, "settled", _SHOWN)),
    "retire": Kind(_folded, _retire, (*_PREFACE, _SIDE, _SHOWN, "settled")),
    "take": Kind(_folded, _take, (*_PREFACE, "view removed", "settled")),
    "take-whole": Kind(_folded_whole, _take, (*_PREFACE, "view removed", "settled")),
}
#: What is done in few calls and names no steps.
OPERATIONS = {
    "adopt": Kind(_plain, _read, ()),
    "adopt-whole": Kind(_plain_whole, _read, ()),
    "take-in": Kind(_written_by_others, _read, ()),
    "vacuum": Kind(_partitioned, _vacuum, ()),
    "drop": Kind(_partitioned, drop, ()),
    "drop-on-read": Kind(_on_read, drop, ()),
    "drop-ingested": Kind(_ingested, drop, ()),
    "drop-adopted": Kind(_plain, lambda kernel, name: (_read(kernel, name), drop(kernel, name))[1], ()),
}
EVERY = {**COMMITS, **OPERATIONS}
