{#
    Run an incremental strategy. The first load of a change feed goes through the merge like every other. Without
    `sequence_by` and `apply_as_deletes` the model's rows are not a feed, and the first load takes them as they are,
    as dbt does elsewhere.
#}
{%- macro lakemerge_apply_strategy(strategy, target, options, rebuild) -%}
    {%- set rebuild = rebuild or load_cached_relation(target) is none and not options.reads_a_feed -%}
    {%- if strategy == 'merge' and options.keeps_history -%}
        {{- return(adapter.nodes.publish(context, 'scd2', target, options, rebuild)) -}}
    {%- elif strategy == 'merge' and options.reads_a_feed -%}
        {{- return(adapter.nodes.publish(context, 'merge', target, options, rebuild)) -}}
    {%- elif strategy == 'microbatch' -%}
        {{- return(adapter.nodes.publish(context, strategy, target, options, rebuild)) -}}
    {%- elif rebuild -%}
        {{- return(adapter.nodes.publish(context, 'replace', target, options)) -}}
    {%- elif strategy in ('append', 'merge', 'delete+insert', 'insert_overwrite') -%}
        {{- return(adapter.nodes.publish(context, strategy, target, options)) -}}
    {%- else -%}
        {{- return(lakemerge_custom_strategy(strategy, target, options)) -}}
    {%- endif -%}
{%- endmacro -%}
