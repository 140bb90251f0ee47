"""Names in a model's config that dbt knows."""

from __future__ import annotations

import functools
from dataclasses import dataclass, fields

from dbt.adapters.spark.impl import SparkConfig


@dataclass
class LakemergeConfig(SparkConfig):
    """What a model's config may say besides dbt's own fields.

    Attributes:
        file_format: ``orc`` (default) or ``parquet``.
        location_root: a folder in which the table's own folder is created.
    """

    file_format: str = "orc"
    tblproperties: dict[str, str] | None = None


@functools.cache
def names_of_dbt() -> frozenset[str]:
    """The fields that dbt and dbt-spark give to configs."""
    from dbt.artifacts.resources import FunctionConfig, ModelConfig, SeedConfig, SnapshotConfig

    kinds = (ModelConfig, SeedConfig, SnapshotConfig, FunctionConfig, SparkConfig)
    return frozenset(field.name for kind in kinds for field in fields(kind))
