{#
    Run an incremental strategy. dbt's are lakemerge's; one that the project defines gets a table to write to from
    its first run, whose rows are the table's.
#}
{%- macro lakemerge_apply_strategy(strategy, target, options, rebuild) -%}
    {%- set exists = load_cached_relation(target) is not none -%}
    {%- if adapter.nodes.knows(strategy) -%}
        {{- return(adapter.nodes.publish(context, strategy, target, options, rebuild, exists)) -}}
    {%- elif rebuild or not exists -%}
        {{- return(adapter.nodes.publish(context, 'replace', target, options)) -}}
    {%- else -%}
        {{- return(lakemerge_custom_strategy(strategy, target, options)) -}}
    {%- endif -%}
{%- endmacro -%}
