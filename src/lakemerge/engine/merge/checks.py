"""The rules that a feed of changes must keep so that its merge has exactly one result."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from lakemerge.engine.merge.merge_options import MergeConfig
from lakemerge.engine.merge.merge_plan import MergePlan
from lakemerge.engine.publish.driver import Driver
from lakemerge.errors import AmbiguousChange, EmptySync, NullKey, NullSequence, UnavailableValue

M = TypeVar("M", bound=MergeConfig)


def check_changes(driver: Driver[M], plan: MergePlan, counts: Mapping[str, Any], view: str) -> None:
    """Refuse null keys, null sequences, and different rows with the same place in the order.

    Args:
        counts: of the changes, as they were computed.
        view: the changes, for samples.

    Raises:
        NullKey, NullSequence, UnavailableValue, AmbiguousChange: the feed has such rows; nothing was written.
    """
    keys = ", ".join(key.name for key in plan.keys)

    def such_as(condition: str) -> str:
        rows = driver.queries.rows(driver.macros.lakemerge_sample_changes_sql(plan, condition, view))
        return f"For instance: {key_list(rows)}."

    if counts["null_keys"]:
        raise NullKey(
            expected=f"a value in every column of the unique_key ({keys})",
            found=f"{counts['null_keys']} rows of the feed without one",
            action=f"Filter them out in the model, or correct the feed. {such_as('__is_null_key')}",
        )
    if counts["null_sequences"]:
        raise NullSequence(
            expected=f"a value of sequence_by ({plan.sequence}) in every row",
            found=f"{counts['null_sequences']} rows of the feed without one",
            action=f"Give them one (coalesce), or filter them out. {such_as('__null_sequences > 0')}",
        )
    if plan.unavailable and driver.config.keeps_history and counts["unavailable"]:
        raise UnavailableValue(
            expected="changes of a history to bring all of its columns",
            found=f"{counts['unavailable']} with the placeholder of a value that did not change",
            action="Let the source log whole rows (in PostgreSQL: alter table … replica identity full). To store the "
            "placeholder as it is, set no unavailable_value.",
        )
    if counts["ties"] and (not plan.sequence or driver.config.on_sequence_tie == "error"):
        each_counts = plan.sequence and (plan.partial or view != "lakemerge_latest")
        change = "one change for each sequence and key" if each_counts else "one latest change for each key"
        advice = (
            "Add a column to sequence_by that tells them apart, or set on_sequence_tie: any."
            if plan.sequence
            else "Set sequence_by, or let the model select one row for each key."
        )
        raise AmbiguousChange(
            expected=f"{change} ({keys})",
            found=f"{counts['ties']} keys with several different ones",
            action=f"{advice} {such_as('__is_tie')}",
        )


def check_sync(config: MergeConfig, plan: MergePlan, counts: Mapping[str, Any]) -> None:
    """Refuse a full sync with an empty feed: it would delete every row, and more often the feed is broken.

    Raises:
        EmptySync: this is such a sync, and the model does not allow it.
    """
    if plan.syncs and not counts["keys"] and not config.allow_empty_sync:
        raise EmptySync(
            expected="rows in the feed of a model with sync 'full'",
            found="none, which would delete every row of the table",
            action="Check the feed; if every row is to go, set allow_empty_sync: true for this run.",
        )


def repeats_error(keys: Iterable[Iterable[Any]]) -> AmbiguousChange:
    """The error for changes that have the sequence of the stored row but other values."""
    return AmbiguousChange(
        expected="a change with the sequence of the stored row to have its values",
        found=f"others, for the keys {key_list(keys)}",
        action="Add a column to sequence_by that tells them apart, or set on_sequence_tie: any to keep the stored "
        "rows.",
    )


def key_list(rows: Iterable[Iterable[Any]]) -> str:
    """Keys as text for an error: ``(1, a), (2, b)``."""
    return ", ".join(f"({', '.join(map(str, row))})" for row in rows)
