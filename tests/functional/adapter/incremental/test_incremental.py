"""dbt's suite "incremental": keys, merge, predicates, schema changes, microbatch."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.tests.adapter.incremental.test_incremental_merge_exclude_columns import BaseMergeExcludeColumns
from dbt.tests.adapter.incremental.test_incremental_microbatch import BaseMicrobatch
from dbt.tests.adapter.incremental.test_incremental_on_schema_change import BaseIncrementalOnSchemaChange
from dbt.tests.adapter.incremental.test_incremental_predicates import BaseIncrementalPredicates
from dbt.tests.adapter.incremental.test_incremental_unique_id import BaseIncrementalUniqueKey

MICROBATCH_PARTITIONED = """
{{ config(
    materialized='incremental',
    incremental_strategy='microbatch',
    event_time='event_time',
    batch_size='day',
    begin=modules.datetime.datetime(2020, 1, 1, 0, 0, 0),
    partition_by=['event_day']
) }}
select *, cast(event_time as date) as event_day from {{ ref('input_model') }}
"""


class UniqueKey(BaseIncrementalUniqueKey):
    """Also models without a key, whose rows are added."""

    strategy = ""

    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        return {
            # the suite inserts strings into this column, which Spark does not store in a date
            "seeds": {"+column_types": {"last_visit_date": "string"}},
            "models": {"+incremental_strategy": self.strategy} if self.strategy else {},
        }


@pytest.mark.slow
class TestIncrementalUniqueKey(UniqueKey):
    pass


@pytest.mark.slow
@pytest.mark.fast("test__one_unique_key")
class TestUniqueKeyOfMerge(UniqueKey):
    strategy = "merge"


@pytest.mark.slow
class TestUniqueKeyOfDeleteInsert(UniqueKey):
    strategy = "delete+insert"


@pytest.mark.slow
class TestIncrementalOnSchemaChange(BaseIncrementalOnSchemaChange):
    pass


@pytest.mark.slow
class TestMergeExcludeColumns(BaseMergeExcludeColumns):
    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        return {"models": {"+incremental_strategy": "merge"}}


@pytest.mark.slow
class TestIncrementalPredicates(BaseIncrementalPredicates):
    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        return {
            "models": {
                "+incremental_predicates": ["DBT_INTERNAL_DEST.id != 2"],
                "+incremental_strategy": "merge",
            }
        }


@pytest.mark.slow
class TestPredicatesOfDeleteInsert(BaseIncrementalPredicates):
    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        return {"models": {"+incremental_predicates": ["id != 2"], "+incremental_strategy": "delete+insert"}}


@pytest.mark.slow
class TestPredicates(BaseIncrementalPredicates):
    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        return {"models": {"+predicates": ["dbt_internal_dest.id != 2"], "+incremental_strategy": "merge"}}


@pytest.mark.slow
class TestMicrobatch(BaseMicrobatch):
    pass


@pytest.mark.slow
class TestMicrobatchPartitioned(BaseMicrobatch):
    @pytest.fixture(scope="class")
    def microbatch_model_sql(self) -> str:
        return MICROBATCH_PARTITIONED
