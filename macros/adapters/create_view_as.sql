{#
    Creates a view, or replaces one in a single step.

    Args:
        relation: the view to make.
        sql: its query.
#}
{% macro lakemerge__create_view_as(relation, sql) -%}
    {%- do lakemerge_refuse_grants(relation, config.get('grants')) -%}
    {%- do adapter.staging.require_published(model, relation, sql) -%}
    {%- set contract = config.get('contract') -%}
    {%- if contract and contract.enforced -%}
        {%- do get_assert_columns_equivalent(sql) -%}
    {%- endif -%}
    {%- set documented = config.persist_column_docs() and model.columns and execute -%}
    {{ config.get('sql_header') or '' }}
    create or replace view {{ relation.render() }}
    {%- if documented %}
    {%- set query_columns = get_columns_in_query(sql) -%}
    {%- set comments = lakemerge_column_comments(relation, model.columns, query_columns) %} (
        {%- for name in query_columns %}
        {{ adapter.quote(name) }}
        {%- if name | lower in comments %} comment {{ adapter.string_literal(adapter.short_comment(comments[name | lower])) }}
        {%- endif %}
        {{- ',' if not loop.last }}
        {%- endfor %}
    )
    {%- endif %}
    {{ comment_clause() }}
    {%- if documented %}
    {{ lakemerge_table_properties(adapter.comment_properties(comments)) }}
    {%- endif %}
    as
    {{ sql }}
{%- endmacro %}
