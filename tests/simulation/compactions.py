"""Compactions among what simulated writers do: rows that move to fewer files, and stay what they are."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from lakemerge.kernel import Group, Kernel, Manifest, Transaction, group_of
from simulation.operations import COMMIT_COLUMN, Model, Operation, read


@dataclass
class Compaction(Operation):
    """Groups of partitions whose rows move to the newest of each; a group that others change first is left out."""

    def apply(self, model: Model) -> None:
        return

    def groups(self, base: Manifest) -> list[Group]:
        """What it moves."""
        raise NotImplementedError

    def attempt(self, kernel: Kernel) -> int | None:
        transaction = self.began(kernel.begin(self.table, "compact", data_change=False))
        try:
            base = transaction.base
            assert base is not None
            groups = self.groups(base)
            if not groups:
                return None
            members = {name for group in groups for name in group.members}
            transaction.read(members)
            if transaction.base is not base:
                return None  # another commit has come between; the next compaction looks again
            transaction.move_in_units(group.unit for group in groups)
            for group in groups:
                _copy(kernel, transaction, group.members, group.target)
            written = set(transaction.add_staged())
            transaction.remove(members - written - {""})
            transaction.properties = dict(base.properties)
            return transaction.commit()
        finally:
            transaction.abort()


@dataclass
class Compact(Compaction):
    """The partitions of commits become one."""

    def groups(self, base: Manifest) -> list[Group]:
        found: dict[str, list[int]] = {}
        for name in base.partitions:
            others, _, commit = name.rpartition("/")
            found.setdefault(others, []).append(int(commit.partition("=")[2]))
        return [
            group_of(base, [f"{others}/{COMMIT_COLUMN}={one}" for one in sorted(commits)])
            for others, commits in found.items()
            if len(commits) > 1
        ]


@dataclass
class Pack(Compaction):
    """Each partition gets other files in its own place."""

    def groups(self, base: Manifest) -> list[Group]:
        return [group_of(base, [name]) for name in sorted(base.partitions)]


def _copy(kernel: Kernel, transaction: Transaction, members: Iterable[str], target: str) -> None:
    assert transaction.base is not None
    folder = "/".join(filter(None, (transaction.stage_directory, _hive_path(target))))
    for number, name in enumerate(members):
        state = transaction.base.partitions[name]
        for entry in kernel.files.list(transaction.layout.absolute(state.location)):
            if not entry.is_directory and entry.name[:1] not in "_.":
                kernel.files.write_text(f"{folder}/part-{number}-{entry.name}", read(kernel, entry.path))


def _hive_path(name: str) -> str:
    """A partition's directory: names of columns must not begin with an underscore there."""
    return name.replace(f"/{COMMIT_COLUMN}=", "/c=")
