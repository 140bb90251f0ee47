"""dbt's suite "utils": the cross-database macros."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest
from dbt.tests.adapter.utils import (
    test_any_value,
    test_array_append,
    test_array_concat,
    test_array_construct,
    test_bool_or,
    test_cast,
    test_cast_bool_to_text,
    test_concat,
    test_current_timestamp,
    test_date,
    test_date_spine,
    test_date_trunc,
    test_dateadd,
    test_datediff,
    test_equals,
    test_escape_single_quotes,
    test_except,
    test_generate_series,
    test_get_intervals_between,
    test_get_powers_of_two,
    test_hash,
    test_intersect,
    test_last_day,
    test_length,
    test_listagg,
    test_null_compare,
    test_position,
    test_replace,
    test_right,
    test_safe_cast,
    test_source_freshness_custom_info,
    test_split_part,
    test_string_literal,
    test_timestamps,
    test_validate_sql,
)
from dbt.tests.adapter.utils.data_types import (
    test_type_bigint,
    test_type_boolean,
    test_type_float,
    test_type_int,
    test_type_numeric,
    test_type_string,
    test_type_timestamp,
)

from releases import needs_spark_4


@pytest.mark.slow
class TestAnyValue(test_any_value.BaseAnyValue):
    pass


@pytest.mark.slow
class TestArrayAppend(test_array_append.BaseArrayAppend):
    pass


@pytest.mark.slow
class TestArrayConcat(test_array_concat.BaseArrayConcat):
    pass


@pytest.mark.slow
class TestArrayConstruct(test_array_construct.BaseArrayConstruct):
    pass


@pytest.mark.slow
class TestBoolOr(test_bool_or.BaseBoolOr):
    pass


@pytest.mark.slow
class TestCast(test_cast.BaseCast):
    pass


@pytest.mark.slow
class TestCastBoolToText(test_cast_bool_to_text.BaseCastBoolToText):
    pass


@pytest.mark.slow
class TestConcat(test_concat.BaseConcat):
    pass


@pytest.mark.slow
class TestCurrentTimestamp(test_current_timestamp.BaseCurrentTimestampNaive):
    pass


@pytest.mark.slow
class TestDate(test_date.BaseDate):
    pass


@pytest.mark.slow
class TestDateSpine(test_date_spine.BaseDateSpine):
    pass


@pytest.mark.slow
class TestDateTrunc(test_date_trunc.BaseDateTrunc):
    pass


@pytest.mark.slow
class TestDateAdd(test_dateadd.BaseDateAdd):
    pass


class TestDateDiff(test_datediff.BaseDateDiff):
    pass


@pytest.mark.slow
class TestEquals(test_equals.BaseEquals):
    pass


@pytest.mark.slow
class TestEscapeSingleQuotes(test_escape_single_quotes.BaseEscapeSingleQuotesBackslash):
    pass


@pytest.mark.slow
class TestExcept(test_except.BaseExcept):
    pass


@pytest.mark.slow
class TestGenerateSeries(test_generate_series.BaseGenerateSeries):
    pass


@pytest.mark.slow
class TestGetIntervalsBetween(test_get_intervals_between.BaseGetIntervalsBetween):
    # Spark casts ISO dates alone: others need to_date with a format
    def interpolate_macro_namespace(self, model_sql: str, macro_name: str) -> str:
        model_sql = model_sql.replace("'09/01/2023'", "'2023-09-01'").replace("'09/12/2023'", "'2023-09-12'")
        return str(super().interpolate_macro_namespace(model_sql, macro_name))


@pytest.mark.slow
class TestGetPowersOfTwo(test_get_powers_of_two.BaseGetPowersOfTwo):
    pass


@pytest.mark.slow
class TestHash(test_hash.BaseHash):
    pass


@pytest.mark.slow
class TestIntersect(test_intersect.BaseIntersect):
    pass


@pytest.mark.slow
class TestLastDay(test_last_day.BaseLastDay):
    pass


@pytest.mark.slow
class TestLength(test_length.BaseLength):
    pass


@pytest.mark.slow
class TestListagg(test_listagg.BaseListagg):
    pass


@pytest.mark.slow
class TestMixedNullCompare(test_null_compare.BaseMixedNullCompare):
    pass


@pytest.mark.slow
class TestNullCompare(test_null_compare.BaseNullCompare):
    pass


@pytest.mark.slow
class TestPosition(test_position.BasePosition):
    pass


@pytest.mark.slow
class TestReplace(test_replace.BaseReplace):
    pass


@pytest.mark.slow
class TestRight(test_right.BaseRight):
    pass


class TestSafeCast(test_safe_cast.BaseSafeCast):
    pass


@pytest.mark.slow
class TestSplitPart(test_split_part.BaseSplitPart):
    pass


@pytest.mark.slow
class TestStringLiteral(test_string_literal.BaseStringLiteral):
    pass


class TestValidateSqlMethod(test_validate_sql.BaseValidateSqlMethod):
    pass


class TestCalculateFreshnessMethod(test_source_freshness_custom_info.BaseCalculateFreshnessMethod):
    pass


@needs_spark_4("operator ::, which dbt's macros for former releases use")
class TestCurrentTimestamps(test_timestamps.BaseCurrentTimestamps):
    @pytest.fixture(scope="class")
    def expected_schema(self) -> dict[str, Any]:
        return {
            "current_timestamp": "timestamp",
            "current_timestamp_in_utc_backcompat": "timestamp",
            "current_timestamp_backcompat": "timestamp",
        }

    @pytest.fixture(scope="class")
    def expected_sql(self) -> str:
        return """
            select
                current_timestamp() as current_timestamp,
                current_timestamp::timestamp as current_timestamp_in_utc_backcompat,
                current_timestamp::timestamp as current_timestamp_backcompat
        """


class TypedSeed:
    """A seed's numbers are bigint and double unless it says otherwise."""

    column_types: ClassVar[dict[str, str]]
    csv: str

    @pytest.fixture(scope="class")
    def seeds(self) -> dict[str, Any]:
        config = {"name": "expected", "config": {"column_types": self.column_types}}
        return {"expected.csv": self.csv, "expected.yml": {"version": 2, "seeds": [config]}}


@pytest.mark.slow
class TestTypeBigInt(test_type_bigint.BaseTypeBigInt):
    pass


@pytest.mark.slow
class TestTypeBoolean(test_type_boolean.BaseTypeBoolean):
    pass


@pytest.mark.slow
class TestTypeFloat(TypedSeed, test_type_float.BaseTypeFloat):
    column_types: ClassVar[dict[str, str]] = {"float_col": "float"}
    csv = test_type_float.seeds__expected_csv


@pytest.mark.slow
class TestTypeInt(TypedSeed, test_type_int.BaseTypeInt):
    column_types: ClassVar[dict[str, str]] = {"int_col": "int"}
    csv = test_type_int.seeds__expected_csv


@pytest.mark.slow
class TestTypeNumeric(test_type_numeric.BaseTypeNumeric):
    def numeric_fixture_type(self) -> str:
        return "decimal(28,6)"


@pytest.mark.slow
class TestTypeString(test_type_string.BaseTypeString):
    pass


@pytest.mark.slow
class TestTypeTimestamp(test_type_timestamp.BaseTypeTimestamp):
    pass
