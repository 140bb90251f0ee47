"""dbt's suite "aliases"."""

from __future__ import annotations

import pytest
from dbt.tests.adapter.aliases import fixtures
from dbt.tests.adapter.aliases.test_aliases import (
    BaseAliasErrors,
    BaseAliases,
    BaseSameAliasDifferentSchemas,
)

pytestmark = pytest.mark.slow

# the suite's own is PostgreSQL's `'…'::text`
STRING_LITERAL = "{% macro string_literal(s) -%} cast('{{ s }}' as string) {%- endmacro %}"


class SparkLiterals:
    @pytest.fixture(scope="class")
    def macros(self) -> dict[str, str]:
        return {"cast.sql": STRING_LITERAL, "expect_value.sql": fixtures.MACROS__EXPECT_VALUE_SQL}


class TestAliases(SparkLiterals, BaseAliases):
    pass


class TestAliasErrors(SparkLiterals, BaseAliasErrors):
    pass


class TestSameAliasDifferentSchemas(SparkLiterals, BaseSameAliasDifferentSchemas):
    pass
