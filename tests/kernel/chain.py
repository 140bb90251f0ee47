"""A table that goes through many commits of all kinds, with what it must look like after each."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace

from kernel.support import COLUMNS, KEYS, OTHER_KEYS, Picture, Rows, create, picture, stage
from lakemerge.kernel import HiveColumn, Kernel, TableName

PARTITIONED = (KEYS, OTHER_KEYS)
KINDS = ("swap", "widen", "replace", "rebuild")


@dataclass(frozen=True)
class Change:
    """A commit to be done, and the table after it."""

    kind: str
    run: Callable[[Kernel], int]
    picture: Picture


class Chain:
    """Draws commits for one table from a seeded generator; tell it of those that were done."""

    def __init__(self, kernel: Kernel, name: TableName, seed: int = 0, *, partitioned: bool = True) -> None:
        self.name = name
        self._random = random.Random(seed)
        self._number = 0
        self._partitioned = partitioned
        first: Rows = {"p=1": ["first"], "p=a%2Fb": ["second"]} if partitioned else {"": ["first"]}
        create(kernel, name, first)
        found = picture(kernel, name)
        assert found is not None
        self.picture = found

    def draw(self, kind: str | None = None) -> Change:
        """The next commit, of a random kind unless it is named."""
        self._number += 1
        kind = kind or self._random.choice(KINDS)
        return getattr(self, f"_{kind}")()

    def done(self, change: Change) -> None:
        """Say that a commit was done."""
        self.picture = change.picture

    def _partition(self, keys: tuple[HiveColumn, ...], label: str) -> str:
        return f"p={label}" if keys == KEYS else f"q={self._number}/r={label}"

    def _swap(self) -> Change:
        return self._rewrite("swap", self.picture.columns)

    def _widen(self) -> Change:
        return self._rewrite("widen", (*self.picture.columns, HiveColumn(f"extra{self._number}", "int")))

    def _rewrite(self, kind: str, columns: tuple[HiveColumn, ...]) -> Change:
        before = self.picture
        text = f"{kind} {self._number}"
        rows: Rows = {"": [text]}
        removed: set[str] = set()
        if before.keys:
            kept = sorted(before.rows)[0]
            rows = {kept: [text], self._partition(before.keys, f"new {self._number}"): [text]}
            removed = set(
                self._random.sample(sorted(set(before.rows) - set(rows)), k=min(1, len(before.rows) - 1))
            )

        def run(kernel: Kernel) -> int:
            txn = kernel.begin(self.name, "merge")
            try:
                txn.read([*rows, *removed])
                txn.set_schema(columns)
                stage(kernel, txn, rows)
                txn.remove(removed)
                return txn.commit()
            finally:
                txn.abort()

        after = {part: texts for part, texts in before.rows.items() if part not in removed} | rows
        return Change(kind, run, replace(before, columns=columns, rows=after))

    def _replace(self) -> Change:
        return self._anew("replace", self.picture.keys)

    def _rebuild(self) -> Change:
        others: list[tuple[HiveColumn, ...]] = [keys for keys in PARTITIONED if keys != self.picture.keys]
        if self.picture.keys:
            others.append(())
        return self._anew("rebuild", self._random.choice(others))

    def _anew(self, kind: str, keys: tuple[HiveColumn, ...]) -> Change:
        text = f"{kind} {self._number}"
        parts = [self._partition(keys, label) for label in ("1", "x y")] if keys else [""]
        rows: Rows = {part: [text] for part in parts}

        def run(kernel: Kernel) -> int:
            txn = kernel.begin(self.name, "replace")
            try:
                txn.replace_all()
                txn.set_schema(COLUMNS, keys)
                stage(kernel, txn, rows)
                return txn.commit()
            finally:
                txn.abort()

        return Change(kind, run, Picture(COLUMNS, keys, rows))
