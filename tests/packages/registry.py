"""What is run of each package, what has to be set for it, and why a node of it is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from packages.outcomes import Outcome
from packages.project import Sources

OURS = Path(__file__).parent
#: Macros for a user's own project, which the guide shows.
MACROS = OURS / "macros"


@dataclass(frozen=True)
class Case:
    """A package and how it is tried.

    Attributes:
        package: the name of its project.
        tests: the folder of its own tests in its release; or, of a package without, the folder of ours.
        steps: dbt's commands, one after another.
        settings: what is added to the ``dbt_project.yml`` of the tests.
        type_in_tests: what the tests take ``target.type`` for, on both adapters: they know neither lakemerge nor, some
            of them, Spark. What the package itself takes it for is left alone.
        macros: files of ours that are added to the tests' macros.
        causes: why a node is wrong, by a part of its name.
    """

    package: str
    tests: str = "integration_tests"
    is_ours: bool = False
    steps: tuple[tuple[str, ...], ...] = (("build", "--full-refresh"),)
    settings: Mapping[str, Any] = field(default_factory=dict)
    type_in_tests: str = ""
    macros: tuple[str, ...] = ()
    causes: Mapping[str, str] = field(default_factory=dict)

    def project(self, sources: Sources) -> Path:
        """The folder of the tests."""
        return OURS / self.tests if self.is_ours else sources.of(self.package) / self.tests

    def cause(self, outcome: Outcome) -> str:
        """Why a node is wrong, or empty if nobody has found out."""
        return next((why for part, why in self.causes.items() if part in outcome.node), "")


CASES: Mapping[str, Case] = {
    "dbt_utils": Case(
        "dbt_utils",
        # without the guide's macro, which codegen's tests use: what it is for is seen
        causes={
            "get_relations_by": "it asks `information_schema`, which Spark does not have; the macro above does not",
            "test_groupby": "the test groups `select *` by position, which Spark refuses",
            "equality_floats": "it compares eight decimals; dbt's numeric type has six on Spark, in dbt-spark's macros",
        },
    ),
    "dbt_expectations": Case(
        "dbt_expectations",
        type_in_tests="databricks",
        macros=("dbt_expectations.sql",),
        causes={
            "timeseries_data_grouped_row_value__group_id__1": "its rows are random: in one run of forty, none of four "
            "sums lies a standard deviation from their mean",
        },
    ),
    "dbt_date": Case("dbt_date"),
    "audit_helper": Case(
        "audit_helper",
        type_in_tests="databricks",
        # as its own pipeline does
        steps=(("build", "--exclude", "tag:skip", "tag:temporary_skip"),),
        macros=("audit_helper.sql",),
        causes={"unit_compare_classify_struct": "it compares maps by set operations, which Spark refuses"},
    ),
    "dbt_project_evaluator": Case(
        "dbt_project_evaluator",
        type_in_tests="spark",
        # Spark cannot walk a graph without an end. The package's own default is this one if the type is spark.
        settings={"vars": {"max_depth_dag": 9}},
        causes={
            "equality_fct_test_coverage": "it compares 38.89 as a `float` with 38.89 as a `decimal`; on Databricks, "
            "the package's tests leave that column out",
        },
    ),
    "codegen": Case(
        "codegen",
        steps=(("run-operation", "create_source_table"), ("seed", "--full-refresh"), ("run",), ("test",)),
        macros=("dbt_utils.sql",),
        causes=dict.fromkeys(
            (
                "test_generate_model_yaml",
                "test_generate_model_repeated_yaml",
                "test_generate_source_all_args",
            ),
            "it expects the types that PostgreSQL has, `text` and `integer`",
        ),
    ),
    # one of Fivetran's packages; they are made alike
    "github": Case(
        "github",
        steps=(("seed", "--full-refresh"), ("run",), ("test",)),
        settings={"vars": {"github": {"github_schema": "github"}}},
    ),
    "automate_dv": Case(
        "automate_dv",
        "vault",
        is_ours=True,
        steps=(("build", "--vars", "{day: 1}"), ("build", "--vars", "{day: 2}")),
        macros=("automate_dv.sql",),
    ),
    "elementary": Case(
        "elementary",
        "observed",
        is_ours=True,
        steps=(
            ("run", "--select", "elementary"),
            ("build", "--exclude", "elementary"),
            ("build", "--vars", "{words: second}"),
        ),
        macros=("elementary.sql",),
    ),
    "dbt_artifacts": Case(
        "dbt_artifacts",
        "integration_test_project",
        steps=(("build", "--exclude", "microbatch"), ("build", "--exclude", "microbatch")),
        settings={
            "models": {"dbt_artifacts": {"+file_format": "orc"}},
            # its rows are texts, which Spark does not store in columns of times by default
            "on-run-end": [
                "set spark.sql.storeAssignmentPolicy = LEGACY",
                "{{ dbt_artifacts.upload_results(results) }}",
            ],
        },
        causes={
            "microbatch_transaction_base": "it calls `dbt_artifacts.safe_cast`, a macro that the release does not have"
        },
    ),
}
