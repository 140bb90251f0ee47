{# Aggregates over rows of the table's columns: the number of rows, and the partitions that they belong to. #}
{%- macro lakemerge_placed_counts(txn) -%}
    {%- set columns = txn.plan.columns | selectattr('is_partition') | list -%}
    {{- return({
        'row_count': 'count(*)',
        'partitions': 'collect_set(' ~ lakemerge_partition_sql(columns) ~ ')',
    }) -}}
{%- endmacro -%}
