{#
    The rows of a delta: what `lakemerge_resolved` changes, as the table will hold it; for a deleted row only the key.

    Args:
        order: a number above that of every earlier delta.
#}
{%- macro lakemerge_delta_rows_sql(merge, order) -%}
{%- set keys = merge.keys | map(attribute='name') | list -%}
select
    {%- for column in merge.columns %}
    {%- if column.name in keys %}
    __key_{{ keys.index(column.name) + 1 }} as {{ column.quoted }},
    {%- else %}
    if(__action = 'delete', null, __new_row.{{ column.quoted }}) as {{ column.quoted }},
    {%- endif %}
    {%- endfor %}
    __action = 'delete' as _lakemerge_deleted,
    cast({{ order }} as bigint) as _lakemerge_order
from lakemerge_resolved
where __action in ('insert', 'update', 'delete')
{%- endmacro -%}
