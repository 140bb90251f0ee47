{# The statement that makes the rows of a model's query readable as `lakemerge_feed`. #}
{%- macro lakemerge_feed_statement(compiled_code) -%}
    {%- set contract = config.get('contract') -%}
    create or replace temporary view lakemerge_feed as
    {# the columns of a contract have the contract's order #}
    {{ get_select_subquery(compiled_code) if contract and contract.enforced else compiled_code }}
{%- endmacro -%}
