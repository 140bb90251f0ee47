{#
    Creates a Hive table from a query's rows, or a temporary view. Models, seeds and snapshots are published by
    commits instead; this is for stored test failures and for tables that packages create. For a Python model it
    returns the model's code unchanged.

    Args:
        temporary: whether to make a temporary view.
        relation: the table or view to make.
        compiled_code: the query, or the Python code.
        language: sql or python.
#}
{% macro lakemerge__create_table_as(temporary, relation, compiled_code, language='sql') -%}
    {%- if language == 'python' -%}
        {{ compiled_code }}
    {%- elif temporary -%}
        {{ config.get('sql_header') or '' }}
        {{ create_temporary_view(relation, compiled_code) }}
    {%- else -%}
        {%- set contract = config.get('contract') -%}
        {%- if contract and contract.enforced -%}
            {%- do get_assert_columns_equivalent(compiled_code) -%}
            {%- set compiled_code = get_select_subquery(compiled_code) -%}
        {%- endif -%}
        {{ config.get('sql_header') or '' }}
        create table {{ relation.render() }}
        {{ file_format_clause() }}
        {{ options_clause() }}
        {{ partition_cols(label='partitioned by') }}
        {{ clustered_cols(label='clustered by') }}
        {{ location_clause() }}
        {{ comment_clause() }}
        {{ tblproperties_clause() }}
        as
        {{ compiled_code }}
    {%- endif -%}
{%- endmacro %}
