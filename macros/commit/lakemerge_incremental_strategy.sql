{# The model's strategy: `merge` by default where there is a unique_key, else `append`. #}
{%- macro lakemerge_incremental_strategy() -%}
    {%- set strategy = config.get('incremental_strategy') -%}
    {%- if not strategy or strategy == 'default' -%}
        {%- set strategy = 'merge' if config.get('unique_key') else 'append' -%}
    {%- endif -%}
    {#- raises dbt's own error for a strategy that is neither known nor defined by the project -#}
    {%- do adapter.get_incremental_strategy_macro(context, strategy) -%}
    {{- return(strategy) -}}
{%- endmacro -%}
