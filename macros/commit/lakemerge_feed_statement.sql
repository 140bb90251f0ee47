{# The statement that makes a model's rows readable as `lakemerge_feed`; of a Python model, the model itself. #}
{%- macro lakemerge_feed_statement(compiled_code, language) -%}
    {%- if language == 'python' -%}
        {{ compiled_code }}
    {%- else -%}
        {%- set contract = config.get('contract') -%}
        create or replace temporary view lakemerge_feed as
        {# the columns of a contract have the contract's order #}
        {{ get_select_subquery(compiled_code) if contract and contract.enforced else compiled_code }}
    {%- endif -%}
{%- endmacro -%}
