{# Aggregates over rows with an `__action`, by name. #}
{%- macro lakemerge_snapshot_metrics() -%}
    {{- return({
        'inserted': "count_if(__action = 'insert')",
        'updated': "count_if(__action = 'update')",
        'deleted': "count_if(__action = 'delete')",
        'null_keys': "count_if(__action = 'null key')",
        'duplicates': "count_if(__action = 'duplicate')",
        'several_current': "count_if(__action = 'several current')",
    }) -}}
{%- endmacro -%}
