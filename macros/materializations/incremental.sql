{#
    dbt's incremental on plain Hive tables: every strategy stages its rows and publishes them in one commit.

    merge, append, insert_overwrite and microbatch are lakemerge's; any other strategy is looked up as dbt does
    (`get_incremental_<strategy>_sql`) and its statement is run as it is.
#}
{% materialization incremental, adapter='lakemerge', supported_languages=['sql', 'python'] -%}
    {%- set existing = load_cached_relation(this) -%}
    {%- set target = this.incorporate(type='table') -%}
    {%- set strategy = lakemerge_incremental_strategy() -%}
    {%- set options = adapter.write_config(model, strategy) -%}
    {%- set rebuild = should_full_refresh() or (existing is not none and existing.is_view) -%}
    {%- do refuse_grants(target, config.get('grants')) -%}

    {{ run_hooks(pre_hooks) }}
    {%- do adapter.open_consumed(target, model, strategy, rebuild) -%}
    {%- do lakemerge_before_feed(compiled_code, model['language']) -%}
    {%- call statement('main', language=model['language']) -%}
        {{ lakemerge_feed_statement(compiled_code, model['language']) }}
    {%- endcall -%}
    {%- do lakemerge_after_feed(model['language']) -%}

    {%- set response = lakemerge_apply_strategy(strategy, target, options, rebuild) -%}
    {%- do store_result('main', response=response) -%}

    {%- do persist_docs(target, model) -%}
    {{ run_hooks(post_hooks) }}
    {{ return({'relations': [target]}) }}
{%- endmaterialization %}
