{#
    Run a strategy that the project defines. Its statement writes to the table as another program would, so the next
    commit adopts the change as a foreign one.
#}
{%- macro lakemerge_custom_strategy(strategy, target) -%}
    {%- do adapter.feeds.compute() -%}
    {%- set build = adapter.get_incremental_strategy_macro(context, strategy) -%}
    {%- set temporary = api.Relation.create(identifier='lakemerge_feed', type='view') -%}
    {%- set statement_sql = build({
        'target_relation': target,
        'temp_relation': temporary,
        'unique_key': config.get('unique_key'),
        'dest_columns': adapter.get_columns_in_relation(target),
        'incremental_predicates': config.get('incremental_predicates') or config.get('predicates') or [],
    }) -%}
    {%- call statement('main') -%}
        {{ statement_sql }}
    {%- endcall -%}
    {{- return(load_result('main')['response']) -}}
{%- endmacro -%}
