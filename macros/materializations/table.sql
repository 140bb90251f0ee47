{# dbt's table, published in one commit: readers find the old rows or the new ones, never none and never both. #}
{% materialization table, adapter='lakemerge', supported_languages=['sql', 'python'] -%}
    {%- set target = this.incorporate(type='table') -%}
    {%- set request = adapter.nodes.request(target, model) -%}
    {%- do adapter.staging.check(model) -%}
    {%- do lakemerge_refuse_grants(target, config.get('grants')) -%}

    {{ run_hooks(pre_hooks) }}
    {%- do lakemerge_before_feed(compiled_code, model['language']) -%}
    {%- do lakemerge_open_feed(compiled_code, model['language']) -%}

    {%- set response = adapter.nodes.publish(context, request) -%}
    {%- do store_result('main', response=response) -%}

    {%- do persist_docs(target, model) -%}
    {{ run_hooks(post_hooks) }}
    {{ return({'relations': [target]}) }}
{%- endmaterialization %}
