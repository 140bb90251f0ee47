"""What the macros of dbt packages call: a package of our own does what the most used ones do.

It asks the adapter for relations and their columns while a model is compiled, runs queries then, finds its macros for
Spark by `dispatch`, and makes and drops relations in hooks. `make packages` runs the packages themselves.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from dbt.tests.util import run_dbt

pytestmark = pytest.mark.slow

PACKAGE = """
name: helpers
version: "1.0"
macro-paths: [macros]
"""
MACROS = """
{% macro word() %}{{ return(adapter.dispatch('word', 'helpers')()) }}{% endmacro %}
{% macro default__word() %}{{ return('of any adapter') }}{% endmacro %}
{% macro spark__word() %}{{ return('of Spark') }}{% endmacro %}

{% macro key(columns) %}
    {%- set parts = [] -%}
    {%- for column in columns -%}
        {%- do parts.append("coalesce(cast(" ~ column ~ " as " ~ dbt.type_string() ~ "), '_null_')") -%}
    {%- endfor -%}
    {{ dbt.hash(dbt.concat(parts)) }}
{% endmacro %}

{% macro columns_of(relation, except=[]) %}
    {%- set names = [] -%}
    {%- if execute -%}
        {%- for column in adapter.get_columns_in_relation(relation) if column.name | lower not in except -%}
            {%- do names.append(adapter.quote(column.name)) -%}
        {%- endfor -%}
    {%- endif -%}
    {{ return(names or ['*']) }}
{% endmacro %}

{% macro union_of(relations) %}
    {%- set types = {} -%}
    {%- for relation in relations -%}
        {%- for column in adapter.get_columns_in_relation(relation) if execute -%}
            {%- do types.update({column.name: column.data_type}) -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- for relation in relations -%}
        {%- set own = adapter.get_columns_in_relation(relation) | map(attribute='name') | list if execute else [] %}
        select
            '{{ relation.identifier }}' as source
            {%- for name, type in types.items() %},
            {{ 'cast(null as ' ~ type ~ ') as ' if name not in own }}{{ adapter.quote(name) }}
            {%- endfor %}
        from {{ relation }}
        {{ 'union all' if not loop.last }}
    {%- endfor -%}
{% endmacro %}

{% macro values_of(relation, column) %}
    {% if not execute or load_relation(relation) is none %}{{ return([]) }}{% endif %}
    {% set query = 'select distinct ' ~ column ~ ' from ' ~ relation ~ ' order by 1' %}
    {{ return(run_query(query).columns[0].values() | list) }}
{% endmacro %}

{% macro relations_like(schema, start) %}
    {% set found = [] %}
    {% set tables = run_query("show tables in " ~ schema ~ " like '" ~ start ~ "*'") if execute else [] %}
    {% for table in tables %}
        {% do found.append(adapter.get_relation(target.database, schema, table['tableName'])) %}
    {% endfor %}
    {{ return(found | sort(attribute='identifier')) }}
{% endmacro %}

{# As a package that keeps a log of runs: into a table beside the model, by way of one that it drops. #}
{% macro note_the_run(relation) %}
    {% if execute %}
        {% set log = api.Relation.create(
            database=target.database, schema=relation.schema, identifier='run_log', type='table') %}
        {% set rows = make_intermediate_relation(log) %}
        {% do run_query(create_table_as(false, rows, "select '" ~ relation.identifier ~ "' as name")) %}
        {% if adapter.get_relation(log.database, log.schema, log.identifier) is none %}
            {% do run_query(create_table_as(false, log, 'select * from ' ~ rows)) %}
        {% else %}
            {% do run_query('insert into ' ~ log ~ ' select * from ' ~ rows) %}
        {% endif %}
        {% do truncate_relation(rows) %}
        {% do run_query('insert into ' ~ log ~ ' select * from ' ~ rows) %}
        {% do adapter.drop_relation(rows) %}
    {% endif %}
{% endmacro %}

{# As a package that looks at rows first: a view for this session alone. #}
{% macro count_by_a_temporary_relation(relation) %}
    {% if execute %}
        {% set seen = make_temp_relation(relation, '__seen').incorporate(type='view') %}
        {% do run_query(create_table_as(true, seen, 'select * from ' ~ relation)) %}
        {% set count = run_query('select count(*) from ' ~ seen).columns[0].values()[0] %}
        {% do adapter.drop_relation(seen) %}
        {{ return(count) }}
    {% endif %}
{% endmacro %}
"""
MODELS = {
    "keyed.sql": """
        select {{ helpers.key(['id', 'kind']) }} as row_key, '{{ helpers.word() }}' as word, id
        from {{ ref('changes_web') }}
    """,
    "picked.sql": """
        select {{ helpers.columns_of(ref('changes_web'), ['kind']) | join(', ') }} from {{ ref('changes_web') }}
    """,
    "united.sql": """
        -- depends_on: {{ ref('changes_web') }} {{ ref('changes_shop') }}
        {% set relations = helpers.relations_like(target.schema, 'changes_') %}
        {{ helpers.union_of(relations) if relations else 'select 1 as nothing' }}
    """,
    "turned.sql": """
        select
            id
            {%- for kind in helpers.values_of(ref('changes_web'), 'kind') %},
            sum(case when kind = '{{ kind }}' then amount else 0 end) as {{ adapter.quote(kind) }}
            {%- endfor %}
        from {{ ref('changes_web') }}
        group by id
    """,
    "latest.sql": """
        {{ config(materialized='table', file_format='') }}
        {{ dbt_utils_like_deduplicate(ref('changes_web'), 'id', 'amount desc') }}
    """,
    "nested.sql": """
        {{ config(materialized='table', partition_by=['day']) }}
        select
            id,
            {{ "'more' as added," if var('adds_a_column', false) }}
            named_struct('street', 'Quay', 'number', amount) as address,
            '2026-03-01' as day
        from {{ ref('changes_web') }}
    """,
    "nested_columns.sql": """
        {{ config(materialized='table') }}
        select '{{ helpers.columns_of(ref("nested")) | join(" ") }}' as names
    """,
    "days.sql": """
        {{ dbt.date_spine('day', "cast('2026-03-01' as date)", "cast('2026-03-04' as date)") }}
    """,
    "watched.sql": """
        {{ config(
            materialized='incremental', incremental_strategy='append',
            post_hook="{{ helpers.note_the_run(this) }}",
        ) }}
        -- depends_on: {{ ref('changes_web') }}
        select cast('{{ helpers.count_by_a_temporary_relation(ref("changes_web")) }}' as int) as seen
    """,
    "watched_too.sql": """
        {{ config(post_hook="{{ helpers.note_the_run(this) }}") }}
        select * from {{ ref('watched') }}
    """,
    "timed.sql": """
        {{ config(materialized='table', event_time='at') }}
        select id, timestamp '2026-03-01 08:00:00' as at from {{ ref('changes_web') }}
    """,
    "batched.sql": """
        {{ config(
            materialized='incremental', incremental_strategy='microbatch', event_time='at', begin='2026-01-01',
            batch_size='year',
        ) }}
        select {{ helpers.columns_of(ref('timed')) | join(', ') }} from {{ ref('timed') }}
    """,
}
OWN_MACRO = """
{% macro dbt_utils_like_deduplicate(relation, partition_by, order_by) %}
    select {{ helpers.columns_of(relation) | join(', ') }}
    from (
        select *, row_number() over (partition by {{ partition_by }} order by {{ order_by }}) as place
        from {{ relation }}
    )
    where place = 1
{% endmacro %}
"""
WEB = "id,kind,amount\n1,new,10\n1,gone,20\n2,new,30\n"
SHOP = "id,amount,till\n3,40,left\n"


class TestPackages:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return MODELS

    @pytest.fixture(scope="class")
    def macros(self) -> dict[str, str]:
        return {"deduplicate.sql": OWN_MACRO}

    @pytest.fixture(scope="class")
    def seeds(self) -> dict[str, str]:
        return {"changes_web.csv": WEB, "changes_shop.csv": SHOP}

    @pytest.fixture(scope="class")
    def packages(self) -> dict[str, Any]:
        return {"packages": [{"local": "helpers"}]}

    @pytest.fixture(scope="class")
    def built(self, project: Any) -> Any:
        package = Path(project.project_root, "helpers")
        (package / "macros").mkdir(parents=True)
        (package / "dbt_project.yml").write_text(PACKAGE)
        (package / "macros" / "helpers.sql").write_text(MACROS)
        run_dbt(["deps"])
        run_dbt(["seed"])
        run_dbt(["run", "--empty", "--select", "picked", "timed+"])
        run_dbt(["build"])
        run_dbt(["run", "--select", "watched+", "nested+", "--vars", "{adds_a_column: true}"])
        return project

    def rows(self, built: Any, query: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in built.run_sql(query, fetch="all")]

    def test_a_macro_for_spark_is_found(self, built: Any) -> None:
        found = self.rows(built, "select count(distinct row_key), max(word) from {schema}.keyed")
        assert found == [(3, "of Spark")]

    def test_columns_are_known_while_a_model_is_compiled(self, built: Any) -> None:
        assert self.rows(built, "select * from {schema}.picked order by amount") == [
            (1, 10),
            (1, 20),
            (2, 30),
        ]

    def test_columns_are_known_of_an_input_without_rows_and_of_one_that_is_read_in_batches(
        self, built: Any
    ) -> None:
        # both read a query on the relation, not the relation: `run --empty` is part of the fixture
        found = self.rows(built, "select id, day(at) from {schema}.batched order by id")
        assert found == [(1, 1), (1, 1), (2, 1)]

    def test_columns_are_those_of_the_table_as_it_is_now(self, built: Any) -> None:
        # a partition column once, a struct without its fields, and the column that this run has added
        assert self.rows(built, "select names from {schema}.nested_columns") == [
            ("`id` `added` `address` `day`",)
        ]

    def test_relations_are_found_by_their_names_and_united_by_those_of_their_columns(
        self, built: Any
    ) -> None:
        found = self.rows(built, "select source, id, kind, amount, till from {schema}.united order by amount")
        assert found == [
            ("changes_web", 1, "new", 10, None),
            ("changes_web", 1, "gone", 20, None),
            ("changes_web", 2, "new", 30, None),
            ("changes_shop", 3, None, 40, "left"),
        ]

    def test_rows_become_columns(self, built: Any) -> None:
        found = self.rows(built, "select id, `new`, `gone` from {schema}.turned order by id")
        assert found == [(1, 10, 20), (2, 30, 0)]

    def test_the_last_of_each_key_is_kept(self, built: Any) -> None:
        assert self.rows(built, "select * from {schema}.latest order by id") == [
            (1, "gone", 20),
            (2, "new", 30),
        ]

    def test_a_spine_has_each_day(self, built: Any) -> None:
        assert self.rows(built, "select day(date_day) from {schema}.days order by 1") == [(1,), (2,), (3,)]

    def test_hooks_make_and_drop_relations(self, built: Any) -> None:
        assert self.rows(built, "select seen from {schema}.watched") == [(3,), (3,)]
        # the second model finds the log that the first one made, of which dbt does not know
        found = self.rows(built, "select name, count(*) from {schema}.run_log group by name order by name")
        assert found == [("watched", 2), ("watched_too", 2)]
        tables = {row[1] for row in built.run_sql("show tables in {schema}", fetch="all")}
        assert {name for name in tables if name.startswith(("run_log", "watched", "changes_web"))} == {
            "run_log",
            "watched",
            "watched_too",
            "changes_web",
        }
