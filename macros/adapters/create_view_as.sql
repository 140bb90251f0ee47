{#
    Creates a view, or gives it another query. Spark replaces a view by dropping it first, so one that needs no more than
    another query is altered: nobody finds it missing.

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
    {%- set comment = comment_clause() | trim -%}
    {{ config.get('sql_header') or '' }}
    {{ 'alter view' if not (documented or comment) and adapter.alterations.is_plain_view(relation) else 'create or replace view' }} {{ relation.render() }}
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
    {{ comment }}
    {%- if documented %}
    {{ lakemerge_table_properties(adapter.comment_properties(comments)) }}
    {%- endif %}
    as
    {{ sql }}
{%- endmacro %}
