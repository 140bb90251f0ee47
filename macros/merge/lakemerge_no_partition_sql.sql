{# Whether a change names no partition: deletes often carry nothing but the key. #}
{%- macro lakemerge_no_partition_sql(merge) -%}
    {%- for column in merge.partitions -%}
        __row.{{ column.quoted }} is null{{ ' or ' if not loop.last }}
    {%- else -%}
        false
    {%- endfor -%}
{%- endmacro -%}
