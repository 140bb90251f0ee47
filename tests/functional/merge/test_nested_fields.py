"""Fields of structs are matched by name, as columns are, whatever their order; and they come and go like columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from dbt.tests.util import run_dbt

pytestmark = pytest.mark.slow

# Each with a format and a policy, so that each of these meets all that matters in a few models.
STRATEGIES: Mapping[str, dict[str, Any]] = {
    "merged": {"unique_key": "id", "file_format": "orc", "on_schema_change": "sync_all_columns"},
    "on_read": {"unique_key": "id", "write_mode": "merge_on_read", "file_format": "parquet"},
    "history": {
        "unique_key": "id",
        "sequence_by": "seq",
        "stored_as_scd_type": 2,
        "on_schema_change": "append_new_columns",
    },
    "replaced": {"unique_key": "id", "incremental_strategy": "delete+insert", "file_format": "parquet"},
    "overwritten": {"incremental_strategy": "insert_overwrite", "on_schema_change": "sync_all_columns"},
    "appended": {"incremental_strategy": "append", "on_schema_change": "fail"},
}
# The same values before and after: a struct, one in an array, one in a map, one in a struct's map.
BEFORE = """
    struct({id} as a, {id} * 10 as b) as s,
    array(struct({id} as a, {id} * 10 as b)) as list,
    map('k', struct({id} as a, {id} * 10 as b)) as dict,
    struct(map(
        struct({id} as a, 'x' as b), struct({id} as a, array(struct({id} as a, {id} * 10 as b)) as b)
    ) as m) as deep
"""
AFTER = """
    struct({id} * 10 as b, {id} as A) as s,
    array(struct({id} * 10 as b, {id} as a)) as list,
    map('k', struct({id} * 10 as b, {id} as a)) as dict,
    struct(map(
        struct('x' as b, {id} as a), struct(array(struct({id} * 10 as b, {id} as a)) as b, {id} as a)
    ) as m) as deep
"""
SELECT = "select id, id as seq, {columns}, part from values (1, 'p'), (2, 'q') as t(id, part)"
MODEL = """
{{{{ config(materialized='incremental', {config}) }}}}
{{% if var('after', false) %}}
{after}
{{% else %}}
{before}
{{% endif %}}
"""
NAMED = """
    id, s.a, s.b, list[0].a as la, list[0].b as lb, dict['k'].a as da, dict['k'].b as db,
    map_keys(deep.m)[0].a as ka, map_keys(deep.m)[0].b as kb,
    map_values(deep.m)[0].a as va, map_values(deep.m)[0].b[0].a as vba, map_values(deep.m)[0].b[0].b as vbb
"""


def expected(number: int) -> tuple[Any, ...]:
    n, ten = number, number * 10
    return (n, n, ten, n, ten, n, ten, n, "x", n, n, ten)


def model(config: Mapping[str, Any], before: str, after: str) -> str:
    options = ", ".join(f"{name}={value!r}" for name, value in config.items())
    return MODEL.format(config=options, before=before, after=after)


class TestOrder:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        before = SELECT.format(columns=BEFORE.format(id="id"))
        # only one of the two partitions
        after = SELECT.format(columns=AFTER.format(id="id")) + " where id = 1"
        return {
            f"{name}.sql": model({**config, "partition_by": "part"}, before, after)
            for name, config in STRATEGIES.items()
        }

    def test_fields_in_another_order_keep_their_values(self, project: Any) -> None:
        run_dbt(["run"])
        run_dbt(["run", "--vars", "{after: true}"])
        for name in STRATEGIES:
            found = project.run_sql(f"select distinct {NAMED} from {{schema}}.{name}", fetch="all")
            assert sorted(found) == [expected(1), expected(2)], name


CHANGED = "struct(id * 10 as b, id * 100 as c, 'new' as d) as s, array(struct('x' as y)) as list, id as v"
STORED = "struct(id as a, id * 10 as b, id as c) as s, array(struct('x' as z, 'x' as y)) as list, id as v"
WITH = "select id, {columns}, part from values (1, 'p'), (2, 'q') as t(id, part)"


class TestChanges:
    """Fields that come, go and get another type."""

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        before, after = WITH.format(columns=STORED), WITH.format(columns=CHANGED) + " where id = 1"
        more = WITH.format(columns=STORED.replace("id as c", "id as c, 'new' as d")) + " where id = 1"
        key = {"unique_key": "id", "partition_by": "part"}
        syncs = {**key, "on_schema_change": "sync_all_columns"}
        return {
            "synced.sql": model(syncs, before, after),
            "on_read.sql": model({**syncs, "write_mode": "merge_on_read"}, before, after),
            "extended.sql": model({**key, "on_schema_change": "append_new_columns"}, before, more),
            "refused.sql": model(key, before, after),
            "narrowed.sql": model(
                syncs, before.replace("id as a", "id as a, 3e10 as n"), after.replace("'new' as d", "1 as n")
            ),
            "strange.sql": model(syncs, before, after.replace("id as v", "array(1) as v")),
        }

    def test_fields_come_and_go_like_columns(self, project: Any) -> None:
        run_dbt(["run"])
        results = {
            result.node.name: result
            for result in run_dbt(["run", "--vars", "{after: true}"], expect_pass=False)
        }
        for name in ("synced", "on_read"):
            found = project.run_sql(
                f"select id, to_json(s), to_json(list) from {{schema}}.{name}", fetch="all"
            )
            assert sorted(found) == [
                (1, '{"b":10,"c":100,"d":"new"}', '[{"y":"x"}]'),
                (2, '{"b":20,"c":2}', '[{"y":"x"}]'),
            ]
        found = project.run_sql("select id, s.a, s.c, s.d from {schema}.extended", fetch="all")
        assert sorted(found) == [(1, 1, 1, "new"), (2, 2, 2, None)]
        for name, texts in {
            "refused": ("s.d: a new field", "s.a: missing", "list.element.z: missing", "sync_all_columns"),
            "narrowed": ("2 of s", "that struct<", "cannot hold"),
            "strange": ("v: int into array<int>",),
        }.items():
            assert str(results[name].status) == "error"
            assert "IncompatibleColumn" in results[name].message
            assert all(text in results[name].message for text in texts), results[name].message
            found = project.run_sql(f"select id, s.a, s.b, s.c from {{schema}}.{name}", fetch="all")
            assert sorted(found) == [(1, 1, 10, 1), (2, 2, 20, 2)]
