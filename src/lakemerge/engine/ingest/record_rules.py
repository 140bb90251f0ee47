"""Rules of records that are checked one by one, so that a record which breaks one does not fail a whole commit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from lakemerge.engine.layout.partition_values import name_rules
from lakemerge.kernel import HiveColumn


@dataclass(frozen=True)
class RecordRule:
    """A rule that a record must keep so that the commit of its table does not fail.

    Attributes:
        keeps: SQL that is true where the record keeps the rule, and never null.
        reason: the code of the reason in quarantine.
        column: the name of the table's column that it is about; empty for none.
        text: what was expected, in words.
    """

    keeps: str
    reason: str
    column: str
    text: str


def partition_rules(partitions: Sequence[HiveColumn], values: Mapping[str, str]) -> Iterator[RecordRule]:
    """What records must have so that they have a partition; see :func:`name_rules`."""
    for rule in name_rules(partitions, values):
        reason = "too_long" if rule.is_size else "bad_partition"
        yield RecordRule(rule.keeps, reason, rule.column, f"expected {rule.text}")
