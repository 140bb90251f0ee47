{#
    Up to five keys whose change has the stored row's sequence but other values. Columns that a partial update
    leaves alone are not compared, nor are rows that a statement has corrected: they may differ from every change.

    Args:
        filter: SQL that is true in the partitions where such rows are.
        has_ledger: whether the view `lakemerge_ledger` exists.
#}
{%- macro lakemerge_differing_repeats_sql(merge, filter, has_ledger) -%}
{%- set columns = merge.columns | rejectattr('mode', 'equalto', 'keep') | list -%}
select {{ lakemerge_keys_sql(merge, 'resolved') }}
from lakemerge_resolved as resolved
inner join (
    {{ lakemerge_stored_rows_sql(merge, filter) | indent(4) }}
) as stored
    on {% for key in merge.keys %}stored.{{ key.quoted }} = resolved.__key_{{ loop.index }}{{ ' and ' if not loop.last }}{% endfor %}
{%- if has_ledger %}
left anti join (
    select {{ lakemerge_keys_sql(merge) }}, __sequence from lakemerge_ledger where __kind = 'corrected'
) as corrected
    on {{ lakemerge_keys_equal_sql(merge, 'resolved', 'corrected') }} and resolved.__sequence = corrected.__sequence
{%- endif %}
where resolved.__action = 'same'
    and resolved.__sequence = stored._lakemerge_stored_sequence
    and (
        resolved.__is_delete
        or not {{ lakemerge_compared_row_sql(columns, 'resolved.__row', 'stored') }} <=> {{ lakemerge_compared_row_sql(columns, 'stored') }}
    )
limit 5
{%- endmacro -%}
