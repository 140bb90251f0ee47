{#
    dbt's view. One that is to be published after tests, or that reads what this run has staged, is made at the end of
    the run; until then, its tests and later models read its query.
#}
{% materialization view, adapter='lakemerge' -%}
    {%- if not adapter.staging.stages_view(model) -%}
        {{ return(create_or_replace_view()) }}
    {%- endif -%}
    {%- set target = this.incorporate(type='view') -%}

    {{ run_hooks(pre_hooks) }}
    {%- do lakemerge_run_session_statements(config.get('sql_header')) -%}
    {%- set statement_sql = get_create_view_as_sql(target, sql) -%}
    {%- do store_result('main', response=adapter.staging.stage_view(target, model, statement_sql, sql)) -%}

    {{ run_hooks(post_hooks) }}
    {{ return({'relations': [target]}) }}
{%- endmaterialization %}
