{#
    Run an incremental strategy. dbt's are lakemerge's; a custom one, which the project defines, gets a table to write to
    from its first run, whose rows are the table's.
#}
{%- macro lakemerge_apply_strategy(strategy, target, request) -%}
    {%- set exists = load_cached_relation(target) is not none -%}
    {%- if request.strategy != 'custom' or request.rebuild or not exists -%}
        {{- return(adapter.nodes.publish(context, request, exists)) -}}
    {%- else -%}
        {{- return(lakemerge_custom_strategy(strategy, target)) -}}
    {%- endif -%}
{%- endmacro -%}
