{# How many stored rows a condition holds for, and the names of their partitions. #}
{%- macro lakemerge_partitions_in_range(txn, condition) -%}
    {%- set columns = txn.plan.columns | selectattr('is_partition') | list -%}
    {%- set sql -%}
        select
            count(*) as row_count,
            collect_set({{ lakemerge_partition_sql(columns) }}) as partitions
        from {{ txn.table }}
        where {{ condition }}
    {%- endset -%}
    {%- set found = adapter.rows_of(sql)[0] -%}
    {{- return({'rows': found['row_count'], 'partitions': txn.names_of(found['partitions'])}) -}}
{%- endmacro -%}
