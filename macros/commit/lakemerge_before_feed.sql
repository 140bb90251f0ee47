{# The part before a model's query: the statements of its sql_header, and the check of its contract. #}
{%- macro lakemerge_before_feed(compiled_code, language) -%}
    {%- do lakemerge_run_session_statements(config.get('sql_header')) -%}
    {%- set contract = config.get('contract') -%}
    {%- if language == 'sql' and contract and contract.enforced -%}
        {#- only for its check: the column list that it returns is not needed, the table has columns of its own -#}
        {%- set _ = get_assert_columns_equivalent(compiled_code) -%}
        {#- these warn of the constraints that are not enforced -#}
        {%- set _ = adapter.render_raw_columns_constraints(raw_columns=model['columns']) -%}
        {%- set _ = adapter.render_raw_model_constraints(raw_constraints=model['constraints']) -%}
    {%- endif -%}
{%- endmacro -%}
