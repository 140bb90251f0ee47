"""Accounts in two tables, and transfers between them, each of them a commit that is in both tables or in none.

A file has a line for each account: its number and its balance. Each writer has a partition of its own in the first
table, with the number of its last transfer: what a transfer does follows from its writer and its number alone. So a
read tells by itself which transfers it must show, and what the balances then are.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kernel.support import KEYS, stage
from lakemerge.kernel import (
    HiveColumn,
    Kernel,
    Layout,
    Manifest,
    TableDefinition,
    TableName,
    Transaction,
    as_of_group,
)

CURRENT, SAVED = TABLES = (TableName("default", "current"), TableName("default", "saved"))
COLUMNS = (HiveColumn("account", "int"), HiveColumn("balance", "int"))
PARTITIONS, ACCOUNTS, BALANCE = 4, 40, 1000
TOTAL = len(TABLES) * ACCOUNTS * BALANCE

#: An account: its table and its number.
Account = tuple[TableName, int]
#: The lines of a partition: number and balance.
Lines = dict[int, int]


@dataclass(frozen=True)
class Transfer:
    """What one transfer does."""

    source: Account
    target: Account
    amount: int

    @classmethod
    def of(cls, writer: int, number: int) -> Transfer:
        """The transfer of this number: two of three go from table to table, the others stay in one."""
        dice = random.Random(f"transfer {number} of {writer}")
        one, other = dice.sample(range(ACCOUNTS), 2)
        first = dice.choice(TABLES)
        second = first if dice.random() < 1 / 3 else TABLES[TABLES[0] == first]
        return cls((first, one), (second, other), dice.randint(1, 100))

    def changes(self) -> list[tuple[Account, int]]:
        return [(self.source, -self.amount), (self.target, self.amount)]


@dataclass(frozen=True)
class Books:
    """All balances, and how many transfers of each writer are in them."""

    balances: dict[Account, int]
    transfers: dict[int, int]

    @property
    def total(self) -> int:
        return sum(self.balances.values())


class Auditor:
    """Knows what the balances are after so many transfers of each writer."""

    def __init__(self) -> None:
        self._balances: Counter[Account] = Counter(
            {(table, account): BALANCE for table in TABLES for account in range(ACCOUNTS)}
        )
        self._seen: Counter[int] = Counter()

    def check(self, books: Books, acknowledged: Mapping[int, int]) -> None:
        """Fail where the books are not those of one moment, and where they miss what was there before.

        Args:
            acknowledged: how many transfers of each writer stood before the books were looked at.
        """
        assert books.total == TOTAL, f"{books.total} in all accounts, not {TOTAL}: {books.transfers}"
        for writer, last in acknowledged.items():
            found = books.transfers[writer]
            assert found >= last, f"transfer {last} of writer {writer} is lost: the last one is {found}"
        for writer, last in books.transfers.items():
            assert last >= self._seen[writer], f"writer {writer} has gone from {self._seen[writer]} to {last}"
            for number in range(self._seen[writer] + 1, last + 1):
                for account, amount in Transfer.of(writer, number).changes():
                    self._balances[account] += amount
            self._seen[writer] = last
        wrong = {str(one): found for one, found in books.balances.items() if found != self._balances[one]}
        assert not wrong, f"balances that {books.transfers} transfers do not give: {wrong}"


def open_bank(kernel: Kernel, writers: int) -> None:
    """Make both tables, by one commit."""
    transactions = []
    for table in TABLES:
        txn = kernel.create(TableDefinition(table, COLUMNS, KEYS))
        rows = {
            f"p={part}": dict.fromkeys(range(part, ACCOUNTS, PARTITIONS), BALANCE)
            for part in range(PARTITIONS)
        }
        if table == CURRENT:
            rows |= {_own(writer): {writer: 0} for writer in range(writers)}
        stage(kernel, txn, {part: [_text(lines)] for part, lines in rows.items()})
        transactions.append(txn)
    kernel.commit_together(transactions)


def transfer(kernel: Kernel, writer: int, number: int) -> None:
    """One transfer, if the writer's last one is the one before it.

    Raises:
        CommitConflict, ClaimHeld: nothing of it stands.
    """
    wanted: dict[TableName, dict[str, Lines]] = {CURRENT: {_own(writer): {writer: 1}}}
    for (table, account), amount in Transfer.of(writer, number).changes():
        parts = wanted.setdefault(table, {})
        parts.setdefault(f"p={account % PARTITIONS}", {})[account] = amount
    transactions: list[Transaction] = []
    try:
        for table, parts in wanted.items():
            txn = kernel.begin(table, "transfer")
            transactions.append(txn)
            txn.read(parts)
            assert txn.base is not None
            found = {part: read_lines(kernel, txn.layout, txn.base, part) for part in parts}
            if table == CURRENT and found[_own(writer)] != {writer: number - 1}:
                return  # it stands already: a process of this writer was killed when it was decided
            for part, amounts in parts.items():
                for account, amount in amounts.items():
                    found[part][account] += amount
            stage(kernel, txn, {part: [_text(lines)] for part, lines in found.items()})
        kernel.commit_together(transactions)
    finally:
        for txn in transactions:
            txn.abort()


def rewrite(kernel: Kernel, table: TableName, part: str) -> None:
    """Write a partition again as it is, as a compaction does."""
    with kernel.begin(table, "compact", data_change=False) as txn:
        txn.read([part])
        assert txn.base is not None
        stage(kernel, txn, {part: [_text(read_lines(kernel, txn.layout, txn.base, part))]})
        txn.commit()


def pinned(kernel: Kernel) -> Books:
    """The books as of one moment."""
    return _books(kernel, as_of_group(kernel, TABLES))


def one_by_one(kernel: Kernel) -> Books:
    """The books by the newest version of each table, one after another: they may be of two moments."""
    return _books(kernel, {table: kernel.settled(table)[1] for table in TABLES})


def _books(kernel: Kernel, versions: Mapping[TableName, Manifest]) -> Books:
    balances, transfers = {}, {}
    for table, manifest in versions.items():
        state = kernel.current_state(table)
        assert state is not None
        for part in manifest.partitions:
            for number, value in read_lines(kernel, state.layout, manifest, part).items():
                if part == _own(number):
                    transfers[number] = value
                else:
                    balances[table, number] = value
    return Books(balances, transfers)


def read_lines(kernel: Kernel, layout: Layout, manifest: Manifest, part: str) -> Lines:
    folder = layout.absolute(manifest.partitions[part].location)
    return dict(_parsed("".join(kernel.files.read_text(file.path) for file in kernel.files.list(folder))))


def _parsed(text: str) -> Iterator[tuple[int, int]]:
    for line in text.splitlines():
        number, value = line.split()
        yield int(number), int(value)


def _text(lines: Lines) -> str:
    return "".join(f"{number} {value}\n" for number, value in sorted(lines.items()))


def _own(writer: int) -> str:
    return f"p=writer-{writer}"
