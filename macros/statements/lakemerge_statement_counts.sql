{# Aggregates over what a statement changes: rows by what becomes of them, and the partitions that they are in. #}
{%- macro lakemerge_statement_counts(txn) -%}
    {%- set columns = txn.plan.columns | selectattr('is_partition') | list -%}
    {{- return({
        'inserted': "count_if(__action = 'insert')",
        'updated': "count_if(__action = 'update')",
        'deleted': "count_if(__action = 'delete')",
        'old_partitions': "collect_set(__old_partition)",
        'new_partitions': "collect_set(if(__action = 'delete', null, " ~ lakemerge_partition_sql(columns, '__new_row') ~ "))",
    }) -}}
{%- endmacro -%}
