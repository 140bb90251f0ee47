"""The options of tables of the append kind, whose commits have partitions of their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from lakemerge.engine.options.groups import GROUPS
from lakemerge.engine.options.reader import OptionReader
from lakemerge.engine.options.write import WriteConfig

#: The default name of an append table's last partition column.
COMMIT_COLUMN = "_commit"


@dataclass(frozen=True)
class AppendConfig(WriteConfig):
    """How rows are added to a table.

    Attributes:
        append_layout: ``rewrite`` the partitions that an append touches, or add new ones (``commit_partitioned``).
    """

    groups: ClassVar[frozenset[str]] = frozenset({"commits"})
    changed_by: ClassVar[str] = "append"
    rules: ClassVar[tuple[str, ...]] = (
        *WriteConfig.rules,
        "append_layout",
        "commit_column",
    )

    append_layout: str = "rewrite"
    commit_column: str = COMMIT_COLUMN

    @classmethod
    def _read(cls, reader: OptionReader) -> dict[str, Any]:
        return {
            **super()._read(reader),
            "append_layout": reader.choice("append_layout", "rewrite", "commit_partitioned"),
            "commit_column": reader.text("commit_column", COMMIT_COLUMN).lower(),
        }

    def _contradictions(self, reader: OptionReader) -> list[str]:
        problems = super()._contradictions(reader)
        if self.append_layout == "rewrite":
            problems += reader.misplaced(GROUPS["commits"])
        return problems

    @property
    def new_commit_column(self) -> str:
        return self.commit_column if self.append_layout == "commit_partitioned" else ""
