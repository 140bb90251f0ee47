"""The classes of dbt-tests-adapter that are not run here, each with its reason.

``tests/unit/adapter/test_official_suites.py`` makes sure that every other class is.
"""

from __future__ import annotations

from collections.abc import Mapping

_GRANTS = "Spark cannot grant rights on Hive tables; the config is refused with an error"
_MATERIALIZED_VIEWS = "Spark makes no materialized views of Hive tables"
_JAVASCRIPT = "Spark has no functions in JavaScript"
_PYTHON_UDF = "Spark keeps no Python functions in the metastore"
_AGGREGATES = "Spark has no aggregate functions in SQL"
_DDL = "compares DDL that Hive tables do not have; replaced by tests of what is enforced"
_ONE_DATABASE = "Spark has one level of names above tables"

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
    "UDAFBase": _AGGREGATES,
    "PythonUDFNotSupported": "refused in words that say what to use; dbt's name a macro that is missing",
    "DeterministicUDF": "run with Spark's word for it, as TestDeterministicUdf",
    "NonDeterministicUDF": "run with Spark's word for it, as TestNonDeterministicUdf",
    "SqlUDFDefaultArgSupport": "run with Spark's word for it, as TestSqlUdfDefaultArgument",
    "StableUDF": "run with Spark's word for it, as TestStableUdf",
    # constraints
    "BaseConstraintQuotedColumn": _DDL,
    "BaseConstraintsRuntimeDdlEnforcement": _DDL,
    "BaseIncrementalConstraintsRuntimeDdlEnforcement": _DDL,
    "BaseModelConstraintsRuntimeEnforcement": _DDL,
    # names
    "BaseSameAliasDifferentDatabases": _ONE_DATABASE,
    "BasePersistDocsQuotedDescriptionNotAppliedOnMismatch": (
        "needs two columns that differ by case alone; the metastore keeps names in lower case"
    ),
    # others
    "BaseCurrentTimestampAware": "Spark's timestamps have no zone; the naive form is run",
    "BaseDebugPostgres": "has cases for users and passwords; TestDebug has the others",
    "BaseEscapeSingleQuotesQuote": "Spark escapes by a backslash, which is run",
    "BasePostgresColumnTypes": "in Postgres' types; run in Spark's, as TestColumnTypes",
    "BasePrePostModelHooksOnSeedsPlusPrefixedWhitespace": "the same config as without white space",
    "BaseSimpleCopyUppercase": "connects to a Postgres database; run as TestSimpleCopyUppercase",
    "BaseTestEmptySeedFlag": "dbt-core has no `dbt seed --empty` yet",
    "EmptyModelsArentRunBase": "asks Postgres' information schema; part of TestSimpleCopy",
    "SimpleCopyBase": "makes a materialized view; the rest is run as TestSimpleCopy",
}
