{# dbt's seed, published in one commit, with nulls as nulls. #}
{% materialization seed, adapter='lakemerge' -%}
    {%- set target = this.incorporate(type='table') -%}
    {%- set request = adapter.nodes.request(target, model) -%}
    {%- do adapter.staging.check(model) -%}
    {%- do lakemerge_refuse_grants(target, config.get('grants')) -%}
    {%- set agate_table = load_agate_table() -%}
    {%- do adapter.check_seed_columns(agate_table.column_names, config.get('quote_columns')) -%}
    {%- do store_result('agate_table', response='OK', agate_table=agate_table) -%}

    {{ run_hooks(pre_hooks) }}
    {%- do adapter.feeds.open_seed(agate_table, model['config'].get('column_types') or {}) -%}
    {%- set response = adapter.nodes.publish(context, request) -%}
    {%- do store_result('main', response=response, agate_table=agate_table) -%}

    {%- do persist_docs(target, model) -%}
    {{ run_hooks(post_hooks) }}
    {{ return({'relations': [target]}) }}
{%- endmaterialization %}
