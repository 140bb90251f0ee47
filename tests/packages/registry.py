"""What is run of each package, what has to be set for it, and why a node of it is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from packages.outcomes import Outcome
from packages.project import Sources


@dataclass(frozen=True)
class Case:
    """A package and how it is tried.

    Attributes:
        package: the name of its project.
        steps: dbt's commands, one after another.
        settings: what is added to the ``dbt_project.yml`` of the tests.
        type_in_tests: what the tests take ``target.type`` for, on both adapters: they know neither lakemerge nor, some
            of them, Spark. What the package itself takes it for is left alone.
        causes: why a node is wrong, by a part of its name.
    """

    package: str
    steps: tuple[tuple[str, ...], ...] = (("build", "--full-refresh"),)
    settings: Mapping[str, Any] = field(default_factory=dict)
    type_in_tests: str = ""
    causes: Mapping[str, str] = field(default_factory=dict)

    def project(self, sources: Sources) -> Path:
        """The folder of the tests."""
        return sources.of(self.package) / "integration_tests"

    def cause(self, outcome: Outcome) -> str:
        """Why a node is wrong, or empty if nobody has found out."""
        return next((why for part, why in self.causes.items() if part in outcome.node), "")


CASES: Mapping[str, Case] = {
    case.package: case
    for case in (
        Case(
            "dbt_utils",
            causes={
                "test_groupby": "the test groups `select *` by position, which Spark refuses",
                "equality_floats": "it compares eight decimals; dbt's numeric type has six on Spark",
                "get_relations_by": "the macro asks `information_schema`, which Spark has not",
                "unpivot_quote": "names of columns are shown in lower case, as Hive keeps them",
            },
        ),
        Case(
            "dbt_expectations",
            type_in_tests="databricks",
            causes={"regex": "the package's macro for Spark takes no flags, and a backslash for an escape"},
        ),
        Case("dbt_date"),
        Case(
            "audit_helper",
            type_in_tests="databricks",
            # as its own pipeline does
            steps=(("build", "--exclude", "tag:skip", "tag:temporary_skip"),),
        ),
        Case(
            "dbt_project_evaluator",
            type_in_tests="spark",
            # Spark cannot walk a graph without an end. The package's own default is this one if the type is spark.
            settings={"vars": {"max_depth_dag": 9}},
        ),
    )
}
