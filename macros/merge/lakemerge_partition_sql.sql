{#
    A row's partition as text: a JSON array of its partition columns as strings, in order, from which
    `Partitions.names_of` makes the partition's name. Empty if the table has no partitions.
#}
{%- macro lakemerge_partition_sql(partitions, prefix=none) -%}
{%- if partitions -%}
to_json(array(
    {%- for column in partitions -%}
        cast({{ prefix ~ '.' if prefix }}{{ column.quoted }} as string){{ ', ' if not loop.last }}
    {%- endfor -%}
))
{%- else -%}
'[]'
{%- endif -%}
{%- endmacro -%}
