{#
    The model's strategy; by default `merge` if there is a unique_key, otherwise `append`.

    Without a unique_key, dbt's merge and delete+insert add all rows, and so do these; but not if an option of the
    model has a meaning only with a key.
#}
{%- macro lakemerge_incremental_strategy() -%}
    {%- set strategy = config.get('incremental_strategy') -%}
    {%- if not strategy or strategy == 'default' -%}
        {%- set strategy = 'merge' if config.get('unique_key') else 'append' -%}
    {%- endif -%}
    {#- raises dbt's own error for a strategy that is neither known nor defined by the project -#}
    {%- do adapter.get_incremental_strategy_macro(context, strategy) -%}
    {%- if strategy in ('merge', 'delete+insert') and adapter.merging.names_no_key(model) -%}
        {%- do exceptions.warn(
            "Expected a unique_key for incremental_strategy '" ~ strategy ~ "' on " ~ this.render() ~ '; found none. '
            ~ 'All rows of the model are added, as dbt does. Set unique_key to replace stored rows, or '
            ~ "incremental_strategy: append to say that this is meant."
        ) -%}
        {%- set strategy = 'append' -%}
    {%- endif -%}
    {{- return(strategy) -}}
{%- endmacro -%}
