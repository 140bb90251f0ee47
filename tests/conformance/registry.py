"""Official tests that are not run as dbt wrote them, each with its reason. All others are.

Keys name a class of dbt-tests-adapter, or one test of it as ``Class.test``. ``tests/unit/conformance`` compares them
with the installed package.
"""

from __future__ import annotations

from collections.abc import Mapping

#: Classes that dbt only derives others from.
ABSTRACT = frozenset(
    {
        "BaseArrayUtils",
        "BaseCachingTest",
        "BaseConstraintsColumnsEqual",
        "BaseContractSqlHeader",
        "BaseCurrentTimestamp",
        "BaseDataTypeMacro",
        "BaseUtils",
        "UDAFBase",
    }
)

_GRANTS = "Spark cannot grant rights on Hive tables; the config is refused with an error"
_MATERIALIZED_VIEWS = "Spark makes no materialized views of Hive tables"
_JAVASCRIPT = "Spark has no functions in JavaScript"
_PYTHON_UDF = "Spark keeps no Python functions in the metastore"
_AGGREGATES = "Spark has no aggregate functions in SQL"

NOT_APPLICABLE: Mapping[str, str] = {
    # grants
    "BaseIncrementalGrants": _GRANTS,
    "BaseInvalidGrants": _GRANTS,
    "BaseModelGrants": _GRANTS,
    "BaseSeedGrants": _GRANTS,
    "BaseSnapshotGrants": _GRANTS,
    # materialized views
    "MaterializedViewBasic": _MATERIALIZED_VIEWS,
    "MaterializedViewChanges": _MATERIALIZED_VIEWS,
    "MaterializedViewChangesApplyMixin": _MATERIALIZED_VIEWS,
    "MaterializedViewChangesContinueMixin": _MATERIALIZED_VIEWS,
    "MaterializedViewChangesFailMixin": _MATERIALIZED_VIEWS,
    "SimpleCopyBase.test_simple_copy_with_materialized_views": _MATERIALIZED_VIEWS,
    # functions
    "BasicJSAggregateUDF": _JAVASCRIPT,
    "BasicJSUDF": _JAVASCRIPT,
    "JSAggregateUDFVolatilityIgnored": _JAVASCRIPT,
    "JSUDFDefaultArgSupport": _JAVASCRIPT,
    "JSUDFDeterministicVolatility": _JAVASCRIPT,
    "JSUDFMultiLineBody": _JAVASCRIPT,
    "JSUDFNonDeterministicVolatility": _JAVASCRIPT,
    "JSUDFStableVolatilityWarns": _JAVASCRIPT,
    "BasicPythonUDAF": _PYTHON_UDF,
    "PythonUDAFDefaultArgSupport": _PYTHON_UDF,
    "PythonUDFDefaultArgSupport": _PYTHON_UDF,
    "PythonUDFSupported": _PYTHON_UDF,
    "PythonUDFVolatilitySupport": _PYTHON_UDF,
    "PythonUDFWithPackagesSupported": _PYTHON_UDF,
    "BasicSQLUDAF": _AGGREGATES,
    "PythonUDFNotSupported": "refused in words that say what to use; dbt's name a macro that is missing",
    # names
    "BaseSameAliasDifferentDatabases": "Spark has one level of names above tables",
    "BasePersistDocsQuotedDescriptionNotAppliedOnMismatch": (
        "needs two columns that differ by case alone; the metastore keeps names in lower case"
    ),
    # others
    "BaseCurrentTimestampAware": "Spark's timestamps have no zone; the naive form is run",
    "BaseDebugPostgres.test_nopass": "a profile has no password",
    "BaseDebugPostgres.test_wronguser": "a profile has no user",
    "BaseEscapeSingleQuotesQuote": "Spark escapes by a backslash, which is run",
}

_DDL = (
    "dbt's compares the text of constraints, which Hive's DDL has not; this one what is enforced on the rows"
)
_ALREADY_THERE = "dbt's expects the views of a seed to be gone after a full refresh; Hive leaves them"
_POSTGRES_TEXT = "dbt's compares the SQL with PostgreSQL's, names of databases in it"
_VOLATILITY = "with Spark's word for it"

#: By the class of ours that runs them in their place, or one test of it.
REWRITTEN: Mapping[str, tuple[str, str]] = {
    "BaseConstraintQuotedColumn": ("TestConstraintQuotedColumn", _DDL),
    "BaseConstraintsRuntimeDdlEnforcement": ("TestTableConstraintsRuntimeEnforcement", _DDL),
    "BaseIncrementalConstraintsRuntimeDdlEnforcement": ("TestIncrementalConstraintsRuntimeEnforcement", _DDL),
    "BaseModelConstraintsRuntimeEnforcement": ("TestModelConstraintsRuntimeEnforcement", _DDL),
    "BaseCloneSameSourceAndTarget": (
        "TestCloneSameSourceAndTarget",
        "dbt's models are functions that pytest does not take for fixtures, so that it clones others than it means",
    ),
    "BaseEphemeralMulti": ("TestEphemeralMulti", _POSTGRES_TEXT),
    "BaseEphemeralNested": ("TestEphemeralNested", _POSTGRES_TEXT),
    "BasePostgresColumnTypes": ("TestColumnTypes", "the same in Spark's types"),
    "BasePySparkTests": (
        "TestPySpark",
        "without the frames of Koalas, which went into pyspark and is not released any more",
    ),
    "BaseSimpleCopyUppercase": (
        "TestSimpleCopyUppercase",
        "dbt's connects to a PostgreSQL database with capitals in its name; this one has them in the models' names",
    ),
    "BaseBasicSeedTests.test_simple_seed_full_refresh_flag": (
        "TestBasicSeed.test_simple_seed_full_refresh_flag",
        _ALREADY_THERE,
    ),
    "BaseSeedConfigFullRefreshOn": ("TestSeedConfigFullRefreshOn", _ALREADY_THERE),
    "BaseSeedSpecificFormats": (
        "TestSeedSpecificFormats",
        "without the seed that has dots in its name, which Hive has not",
    ),
    "BaseSeedWithWrongDelimiter": (
        "TestSeedWithWrongDelimiter",
        "dbt's looks for a syntax error; here the message names the one column that was found",
    ),
    "BaseSimpleSnapshot.test_revives_are_captured_by_snapshot": (
        "TestSimpleSnapshot.test_revives_are_captured_by_snapshot",
        "dbt's test, and besides that the rows that came back are current",
    ),
    "CatalogRelationTypes": (
        "TestCatalogRelationTypes",
        "dbt's test with the kinds of relations that Spark has",
    ),
    "DeterministicUDF": ("TestDeterministicUdf", _VOLATILITY),
    "NonDeterministicUDF": ("TestNonDeterministicUdf", _VOLATILITY),
    "StableUDF": ("TestStableUdf", _VOLATILITY),
    "SqlUDFDefaultArgSupport": ("TestSqlUdfDefaultArgument", "with Spark's text of a default"),
}

_VIEW_AT_THE_END = (
    "it reads the statement that makes a view from dbt's folder; the view is made at the end of the run"
)
_TABLE_FOR_VIEW = "it puts a table in a view's place, which is refused"
_HOOK_ALTERS = "a post-hook of it alters the table, which is only staged by then and cannot be changed"

#: Tests that cannot be run where all nodes are published after tests, with the reasons.
AT_ONCE_ONLY: Mapping[str, str] = {
    "BaseAdapterMethod.test_adapter_methods": "a model of it drops the schema of one before it in the same run",
    "BaseChangeRelationTypeValidator.test_changing_materialization_changes_relation_type": _TABLE_FOR_VIEW,
    "BaseConcurrency.test_concurrency": "one of its models fails on purpose, so nothing of the run is published",
    "BaseEphemeralMulti.test_ephemeral_multi": _VIEW_AT_THE_END,
    "BaseEphemeralNested.test_ephemeral_nested": _VIEW_AT_THE_END,
    "BaseMicrobatch.test_run_with_event_time": "microbatch is refused: each batch is a commit of its own",
    "BasePrePostModelHooksOnSeeds.test_hooks_on_seeds": _HOOK_ALTERS,
    "BasePrePostModelHooksOnSeedsPlusPrefixed.test_hooks_on_seeds": _HOOK_ALTERS,
    "BasePrePostModelHooksOnSeedsPlusPrefixedWhitespace.test_hooks_on_seeds": _HOOK_ALTERS,
    "BasePrePostModelHooksOnSnapshots.test_hooks_on_snapshots": _HOOK_ALTERS,
    "BasePrePostSnapshotHooksInConfigKwargs.test_hooks_on_snapshots": _HOOK_ALTERS,
    "BaseSimpleMaterializations.test_base": _TABLE_FOR_VIEW,
    "BaseSimpleSeedColumnOverride.test_simple_seed_with_column_override": (
        "dbt seed --show of dbt 1.11 and 1.12 fails where there is an on-run-end hook, as the one that publishes is"
    ),
}
