{#
    Up to five keys whose change has the stored row's sequence but other values. Columns that a partial update
    leaves alone are not compared.

    Args:
        filter: SQL that is true in the partitions where such rows are.
#}
{%- macro lakemerge_differing_repeats_sql(merge, filter) -%}
{%- set columns = merge.columns | rejectattr('mode', 'equalto', 'keep') | list -%}
select {{ lakemerge_keys_sql(merge, 'resolved') }}
from lakemerge_resolved as resolved
inner join (
    {{ lakemerge_stored_rows_sql(merge, filter) | indent(4) }}
) as stored
    on {% for key in merge.keys %}stored.{{ key.quoted }} = resolved.__key_{{ loop.index }}{{ ' and ' if not loop.last }}{% endfor %}
where resolved.__action = 'same'
    and resolved.__sequence = stored._lakemerge_stored_sequence
    and (
        resolved.__is_delete
        or not {{ lakemerge_compared_row_sql(columns, 'resolved.__row', 'stored') }} <=> {{ lakemerge_compared_row_sql(columns, 'stored') }}
    )
limit 5
{%- endmacro -%}
