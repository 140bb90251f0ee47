{#
    Whether a change does not say in which partition its key is stored: a delete that carries nothing but the key, or
    a partial update that leaves the partition alone.
#}
{%- macro lakemerge_no_partition_sql(merge) -%}
    {%- for column in merge.partitions -%}
        __row.{{ column.quoted }} is null{{ ' and __is_delete' if column.mode == 'set' }}{{ ' or ' if not loop.last }}
    {%- else -%}
        false
    {%- endfor -%}
{%- endmacro -%}
