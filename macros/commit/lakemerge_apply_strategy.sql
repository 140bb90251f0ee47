{# Run an incremental strategy; a table that is not there yet, or that is rebuilt, gets the feed's rows by it too. #}
{%- macro lakemerge_apply_strategy(strategy, target, options, rebuild) -%}
    {%- if strategy == 'merge' -%}
        {{- return(lakemerge_merge(target, options, rebuild)) -}}
    {%- elif rebuild -%}
        {{- return(lakemerge_replace(target, options)) -}}
    {%- elif strategy == 'append' -%}
        {{- return(lakemerge_append(target, options)) -}}
    {%- elif strategy == 'insert_overwrite' -%}
        {{- return(lakemerge_insert_overwrite(target, options)) -}}
    {%- elif strategy == 'microbatch' -%}
        {{- return(lakemerge_microbatch(target, options)) -}}
    {%- elif load_cached_relation(target) is none -%}
        {{- return(lakemerge_replace(target, options)) -}}
    {%- else -%}
        {{- return(lakemerge_custom_strategy(strategy, target, options)) -}}
    {%- endif -%}
{%- endmacro -%}
