"""Options that only one capability uses; a model without it gets an error for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Group:
    """Some options, and where they apply."""

    options: tuple[str, ...]
    meaning: str


GROUPS: Mapping[str, Group] = {
    "scd2": Group(
        (
            "track_history_column_list",
            "track_history_except_column_list",
            "history_column_names",
            "bitemporal",
        ),
        "with stored_as_scd_type 2",
    ),
    "history": Group(("history_layout", "history_partition"), "for tables that keep history"),
    "merge": Group(
        (
            "sequence_by",
            "apply_as_deletes",
            "apply_as_truncates",
            "ignore_null_updates",
            "unavailable_value",
            "merge_update_columns",
            "merge_exclude_columns",
            "sync",
            "tombstone_retention",
            "on_sequence_tie",
            "allow_empty_sync",
            "stored_as_scd_type",
        ),
        "with incremental_strategy 'merge'",
    ),
    "merge on read": Group(
        ("write_mode", "exact_counts"),
        "with incremental_strategy 'merge' and stored_as_scd_type 1",
    ),
    "commits": Group(("commit_column",), "with append_layout 'commit_partitioned'"),
}
