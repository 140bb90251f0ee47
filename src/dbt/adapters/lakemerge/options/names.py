"""Names of options that are almost one of ours: dbt passes on any name, so a slip would be ignored in silence."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import fields
from difflib import get_close_matches

# Names that are as close as this are taken for slips: one letter of nine, or two of seventeen.
_CLOSE = 0.88
# Shorter ones are close to ordinary words: `sync` to `async`.
_SHORTEST = 5
# What other adapters call theirs. A project that runs on several has it beside ours.
_ELSEWHERE = {"partitioned_by": "partition_by", "table_properties": "tblproperties"}


def meant(given: Iterable[str], known: Iterable[str]) -> dict[str, str]:
    """The names that are none of these known ones, and almost one of them; with the one that each is almost.

    A name of dbt's own, or of a dbt adapter's, passes.
    """
    names, ours = set(given), set(known)
    squeezed = {_squeezed(name): name for name in ours if len(_squeezed(name)) >= _SHORTEST}
    found = {}
    for name in sorted(names - ours - _names_of_dbt()):
        near = get_close_matches(_squeezed(name), squeezed, 1, _CLOSE)
        if near and _ELSEWHERE.get(name) not in names:
            found[name] = squeezed[near[0]]
    return found


def _squeezed(name: str) -> str:
    """A name as it is spelled in any style: `writeMode` and `write-mode` are `write_mode`."""
    return name.lower().replace("_", "").replace("-", "")


@functools.cache
def _names_of_dbt() -> frozenset[str]:
    """The fields that dbt itself and dbt-spark give to configs."""
    from dbt.adapters.spark.impl import SparkConfig
    from dbt.artifacts.resources import FunctionConfig, ModelConfig, SeedConfig, SnapshotConfig

    kinds = (ModelConfig, SeedConfig, SnapshotConfig, FunctionConfig, SparkConfig)
    return frozenset(field.name for kind in kinds for field in fields(kind))
