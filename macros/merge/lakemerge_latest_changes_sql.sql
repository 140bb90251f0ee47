{#
    The latest change of each key of the feed, one row a key; and one row for the latest truncate, if there is any.

    Columns: __key_1…, __row (the table's columns), __sequence, __is_delete, __is_truncate, __replaces (an
    earlier change of the key in this feed deleted it), __changes, __null_sequences, __is_tie.

    Ties are found by hashes: the row with the highest hash at the highest sequence, against the one with the lowest.
#}
{%- macro lakemerge_latest_changes_sql(merge) -%}
with changes as (
    select
        {{ lakemerge_typed_change_sql(merge) }}
    from lakemerge_typed_feed
),

hashed as (
    select
        *,
        xxhash64(
            __is_delete,
            if(__is_delete, null, xxhash64({% for column in merge.columns %}{{ column.compared('__row') }}{{ ', ' if not loop.last }}{% endfor %}))
        ) as __hash
    from changes
)
{%- if merge.folds %},

{{ lakemerge_folded_changes_sql(merge) }}
{%- else %}

select
    {{ lakemerge_keys_sql(merge) }},
    __is_truncate,
    max_by(__row, struct(__sequence, __hash)) as __row,
    max(__sequence) as __sequence,
    max_by(__is_delete, struct(__sequence, __hash)) as __is_delete,
    false as __replaces,
    count(*) as __changes,
    sum(__null_sequence) as __null_sequences,
    max_by(__hash, struct(__sequence, __hash)) <> max_by(__hash, struct(__sequence, ~__hash)) as __is_tie
from hashed
group by {{ lakemerge_keys_sql(merge) }}, __is_truncate
{%- endif %}
{%- endmacro -%}
