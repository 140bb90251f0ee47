{#
    Aggregates over what a statement changes: rows by what becomes of them, those of them that get another key, and the
    partitions that they are in.
#}
{%- macro lakemerge_statement_counts(txn, merge) -%}
    {%- set columns = txn.plan.columns | selectattr('is_partition') | list -%}
    {%- set counts = {
        'inserted': "count_if(__action = 'insert')",
        'updated': "count_if(__action = 'update')",
        'deleted': "count_if(__action = 'delete')",
        'old_partitions': "collect_set(__old_partition)",
        'new_partitions': "collect_set(if(__action = 'delete', null, " ~ lakemerge_partition_sql(columns, '__new_row') ~ "))",
    } -%}
    {%- if merge -%}
        {%- do counts.update({'moved': "count_if(__action = 'update' and not (" ~ lakemerge_same_key_sql(merge) ~ "))"}) -%}
    {%- endif -%}
    {{- return(counts) -}}
{%- endmacro -%}
