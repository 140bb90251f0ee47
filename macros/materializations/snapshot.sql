{#
    dbt's snapshot on plain Hive tables: the whole new state of the history is published in one commit.

    The strategies are dbt's or the project's own; lakemerge applies their result to the table.
#}
{% materialization snapshot, adapter='lakemerge' -%}
    {%- set existing = load_cached_relation(this) -%}
    {%- set target = this.incorporate(type='table') -%}
    {%- if existing is not none and not existing.is_table -%}
        {%- do exceptions.relation_wrong_type(existing, 'table') -%}
    {%- endif -%}
    {%- set request = adapter.nodes.request(target, model, 'snapshot') -%}
    {%- do adapter.staging.check(model) -%}
    {%- do lakemerge_refuse_grants(target, config.get('grants')) -%}

    {{ run_hooks(pre_hooks) }}
    {%- do lakemerge_run_session_statements(config.get('sql_header')) -%}
    {%- set strategy = lakemerge_snapshot_strategy(existing is not none) -%}
    {%- if existing is not none -%}
        {%- do adapter.assert_valid_snapshot_target_given_strategy(target, lakemerge_snapshot_column_names(), strategy) -%}
    {%- endif -%}
    {%- call statement('main') -%}
        create or replace temporary view lakemerge_feed as
        {{ build_snapshot_table(strategy, compiled_code) }}
    {%- endcall -%}

    {%- set response = adapter.nodes.publish(context, request) -%}
    {%- do store_result('main', response=response) -%}

    {%- do persist_docs(target, model) -%}
    {{ run_hooks(post_hooks) }}
    {{ return({'relations': [target]}) }}
{%- endmaterialization %}
