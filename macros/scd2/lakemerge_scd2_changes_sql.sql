{#
    The changes of the feed, one row for each key and sequence: every one of them may begin a version.

    Columns: __key_1…, __sequence, __is_delete, __is_truncate, __row (the columns that come from the feed), __changes,
    __null_sequences, __is_tie (several different changes at this place in the order).
#}
{%- macro lakemerge_scd2_changes_sql(scd2) -%}
{%- set merge = scd2.merge -%}
with changes as (
    select
        {%- for key in merge.keys %}
        {{ key.from_feed }} as __key_{{ loop.index }},
        {%- endfor %}
        {{ lakemerge_change_row_sql(merge) }} as __row,
        cast({{ merge.sequence }} as {{ scd2.start_at.type }}) as __sequence,
        if({{ merge.null_sequence }}, 1, 0) as __null_sequence,
        coalesce({{ merge.deletes }}, false) as __is_delete,
        coalesce({{ merge.truncates }}, false) as __is_truncate
    from lakemerge_typed_feed
),

hashed as (
    select
        *,
        {{ lakemerge_change_hash_sql(merge.values) }} as __hash
    from changes
)

select
    {{ lakemerge_keys_sql(merge) }},
    __is_truncate,
    __sequence,
    max_by(__row, __hash) as __row,
    max_by(__is_delete, __hash) as __is_delete,
    count(*) as __changes,
    sum(__null_sequence) as __null_sequences,
    min(__hash) <> max(__hash) as __is_tie
from hashed
group by {{ lakemerge_keys_sql(merge) }}, __is_truncate, __sequence
{%- endmacro -%}
