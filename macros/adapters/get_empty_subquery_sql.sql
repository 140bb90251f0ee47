{#
    A query with the columns of another and no rows.

    Args:
        select_sql: the other query.
        select_sql_header: statements to run before it.
#}
{% macro lakemerge__get_empty_subquery_sql(select_sql, select_sql_header=none) -%}
    {%- if select_sql_header is not none -%}
        {{ sql_header_statements(select_sql_header) }}
    {%- endif %}
    select * from (
        {{ select_sql }}
    ) as __dbt_sbq
    where false
{%- endmacro %}
