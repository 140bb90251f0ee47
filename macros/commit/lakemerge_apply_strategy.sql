{#
    Run an incremental strategy.

    The first load of a change feed goes through the merge as every other. Without `sequence_by` and
    `apply_as_deletes` the model's rows are no feed, and the first load takes them as they are, as dbt does everywhere.
#}
{%- macro lakemerge_apply_strategy(strategy, target, options, rebuild) -%}
    {%- set rebuild = rebuild or load_cached_relation(target) is none and not options.reads_a_feed -%}
    {%- if strategy == 'merge' and options.scd2 -%}
        {{- return(lakemerge_scd2(target, options, rebuild)) -}}
    {%- elif strategy == 'merge' and (options.reads_a_feed or not rebuild) -%}
        {{- return(lakemerge_merge(target, options, rebuild)) -}}
    {%- elif rebuild -%}
        {{- return(lakemerge_replace(target, options)) -}}
    {%- elif strategy == 'append' -%}
        {{- return(lakemerge_append(target, options)) -}}
    {%- elif strategy == 'insert_overwrite' -%}
        {{- return(lakemerge_insert_overwrite(target, options)) -}}
    {%- elif strategy == 'delete+insert' -%}
        {{- return(lakemerge_delete_insert(target, options)) -}}
    {%- elif strategy == 'microbatch' -%}
        {{- return(lakemerge_microbatch(target, options)) -}}
    {%- else -%}
        {{- return(lakemerge_custom_strategy(strategy, target, options)) -}}
    {%- endif -%}
{%- endmacro -%}
