{# A row's partition as a struct of strings; of one dummy where the table has no partitions. #}
{%- macro lakemerge_partition_sql(partitions, prefix=none) -%}
struct(
    {%- for column in partitions -%}
        cast({{ prefix ~ '.' if prefix }}{{ column.quoted }} as string) as {{ column.quoted }}{{ ', ' if not loop.last }}
    {%- else -%}
        '' as whole_table
    {%- endfor -%}
)
{%- endmacro -%}
