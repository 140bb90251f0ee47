{#
    Whether a change leaves its key's partition open: a delete that carries only the key, or a partial update that
    does not set the partition.
#}
{%- macro lakemerge_no_partition_sql(merge) -%}
    {%- for column in merge.partitions -%}
        __row.{{ column.quoted }} is null{{ ' and __is_delete' if column.mode == 'set' }}{{ ' or ' if not loop.last }}
    {%- else -%}
        false
    {%- endfor -%}
{%- endmacro -%}
