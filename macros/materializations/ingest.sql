{# Landed files or topics as a table: each record once, as a row or in quarantine, by the commit that has read it. #}
{% materialization ingest, adapter='lakemerge', supported_languages=['sql'] -%}
    {%- set target = this.incorporate(type='table') -%}
    {%- set options = adapter.ingest.config(model) -%}
    {%- do adapter.staging.check(model) -%}
    {%- do lakemerge_refuse_grants(target, config.get('grants')) -%}

    {{ run_hooks(pre_hooks) }}
    {%- set response = adapter.ingest.run(context, target, options, should_full_refresh()) -%}
    {%- do store_result('main', response=response) -%}

    {%- do persist_docs(target, model) -%}
    {{ run_hooks(post_hooks) }}
    {{ return({'relations': [target]}) }}
{%- endmaterialization %}
