{# The partition of a written row, as text; see `lakemerge_partition_sql`. #}
{%- macro lakemerge_scd2_partition_sql(scd2, row, end_at) -%}
{%- set values = scd2.written(row, 'null', end_at, 'null', 'null') -%}
{%- set partitions = scd2.columns | selectattr('is_partition') | list -%}
{%- if partitions -%}
to_json(array(
    {%- for column in partitions -%}
        cast({{ values[column.quoted] }} as string){{ ', ' if not loop.last }}
    {%- endfor -%}
))
{%- else -%}
'[]'
{%- endif -%}
{%- endmacro -%}
