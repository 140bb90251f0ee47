{#
    The stored rows with their sequences, from the table or the ledger; for truncates, which end rows by sequence.
    See `lakemerge_stored_rows_sql`.
#}
{%- macro lakemerge_dated_rows_sql(merge, filter, has_ledger, join='') -%}
{%- if merge.stored_sequence or not has_ledger -%}
{{ lakemerge_stored_rows_sql(merge, filter, join) }}
{%- else -%}
select {{ lakemerge_join_hint(join, ['live']) if join == 'one_task' }}
    {%- for column in merge.columns %}
    stored.{{ column.quoted }},
    {%- endfor %}
    live.__sequence as _lakemerge_stored_sequence
from (
    {{ lakemerge_stored_rows_sql(merge, filter, join) | indent(4) }}
) as stored
left join (
    select
        {{ lakemerge_keys_sql(merge) }},
        max(__sequence) as __sequence
    from (
        select {{ lakemerge_one_task_hint(join) }} * from lakemerge_ledger where __kind = 'live'
    )
    group by {{ lakemerge_keys_sql(merge) }}
) as live
    on {% for key in merge.keys %}stored.{{ key.quoted }} = live.__key_{{ loop.index }}{{ ' and ' if not loop.last }}{% endfor %}
{%- endif -%}
{%- endmacro -%}
