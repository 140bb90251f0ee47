{#
    dbt's incremental on plain Hive tables: every strategy stages its rows and publishes them in one commit.

    merge, append, delete+insert, insert_overwrite and microbatch are lakemerge's; any other strategy is looked up as
    dbt does (`get_incremental_<strategy>_sql`) and its statement is run as it is.

    The partitions that a model consumes may take several commits, each in a turn of its own; other models have one
    turn.
#}
{% materialization incremental, adapter='lakemerge', supported_languages=['sql', 'python'] -%}
    {%- set existing = load_cached_relation(this) -%}
    {%- set target = this.incorporate(type='table') -%}
    {%- set strategy = lakemerge_incremental_strategy() -%}
    {%- set in_its_place = existing is not none and existing.is_view and not adapter.hides_base(this) -%}
    {%- set rebuild = should_full_refresh() or in_its_place -%}
    {%- set kind = strategy if adapter.nodes.knows(strategy) else 'custom' -%}
    {%- set request = adapter.nodes.request(target, model, kind, rebuild) -%}
    {%- do adapter.staging.check(model, strategy) -%}
    {%- do lakemerge_refuse_grants(target, config.get('grants')) -%}

    {{ run_hooks(pre_hooks) }}
    {%- set turns = adapter.consumers.turns(target, model, strategy, rebuild, existing is not none) -%}
    {%- for turn in turns -%}
        {%- if turn.is_first -%}
            {%- do lakemerge_before_feed(compiled_code, model['language']) -%}
        {%- endif -%}
        {%- do lakemerge_open_feed(compiled_code, model['language']) -%}
        {%- do turn.end(lakemerge_apply_strategy(strategy, target, request)) -%}
    {%- endfor -%}
    {%- do store_result('main', response=turns.response) -%}

    {%- do persist_docs(target, model) -%}
    {{ run_hooks(post_hooks) }}
    {{ return({'relations': [target]}) }}
{%- endmaterialization %}
