{# How many stored rows a query gives, and the names of their partitions. #}
{%- macro lakemerge_partitions_of(txn, rows_sql) -%}
    {%- set columns = txn.plan.columns | selectattr('is_partition') | list -%}
    {%- set sql -%}
        select
            count(*) as row_count,
            collect_set({{ lakemerge_partition_sql(columns) }}) as partitions
        from (
            {{ rows_sql | indent(12) }}
        )
    {%- endset -%}
    {%- set found = adapter.rows_of(sql)[0] -%}
    {{- return({'rows': found['row_count'], 'partitions': txn.names_of(found['partitions'])}) -}}
{%- endmacro -%}
