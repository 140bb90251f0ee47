{#
    The rows that this merge adds to the ledger: the sequences of deletes, of the latest truncate, and of live rows
    if the table does not hold them.

    Columns: __key_1…, __sequence, __kind ('delete', 'truncate', 'live'), __recorded_at. The time comes out of an array,
    because Spark writes a lone constant into the code that it generates, and Java would compile that code again for
    each merge.
#}
{%- macro lakemerge_ledger_rows_sql(merge) -%}
select
    {{ lakemerge_keys_sql(merge) }},
    __sequence,
    if(__is_delete, 'delete', 'live') as __kind,
    array(current_timestamp(), current_timestamp())[cast(__is_delete as int)] as __recorded_at
from lakemerge_resolved
where __action in ('delete', 'tombstone'{{ ", 'insert', 'update'" if merge.keeps_live_sequences }})
{%- if merge.truncates != 'false' %}
union all
select
    {{ lakemerge_keys_sql(merge) }},
    __sequence,
    'truncate' as __kind,
    current_timestamp() as __recorded_at
from lakemerge_latest
where __is_truncate
{%- endif %}
{%- if merge.syncs and merge.exists %}
union all
select
    {%- for key in merge.keys %}
    {{ key.quoted }} as __key_{{ loop.index }},
    {%- endfor %}
    (select max(__sequence) from lakemerge_latest) as __sequence,
    'delete' as __kind,
    current_timestamp() as __recorded_at
from {{ merge.table }} as stored
left anti join lakemerge_latest as latest
    on {% for key in merge.keys %}stored.{{ key.quoted }} = latest.__key_{{ loop.index }}{{ ' and ' if not loop.last }}{% endfor %}
where {% for key in merge.keys %}stored.{{ key.quoted }} is not null{{ ' and ' if not loop.last }}{% endfor %}
{%- endif %}
{%- endmacro -%}
