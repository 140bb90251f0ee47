{#
    The latest change of each key of the feed, one row per key; and one row for the latest truncate, if any.

    Columns: __key_1…, __row (the table's columns), __sequence, __is_delete, __is_truncate, __changes,
    __null_sequences, __is_tie; of partial updates also __steps (all changes of the key).

    Ties are found by hashes: at the highest place, the row with the highest hash is compared with the one with the
    lowest. A place is a sequence, together with what orders the changes of one sequence, if anything does.
    Only one aggregate carries the whole row, because each aggregate that does costs a copy of every row.
#}
{%- macro lakemerge_latest_changes_sql(merge) -%}
{%- set place = '__sequence, __order' if merge.change_order else '__sequence' -%}
with changes as (
    select
        {{ lakemerge_typed_change_sql(merge) }}
    from lakemerge_typed_feed
),

hashed as (
    select
        *,
        {{ lakemerge_change_hash_sql(merge.values) }} as __hash
    from changes
)
{%- if merge.partial %},

{{ lakemerge_listed_changes_sql(merge) }}
{%- else %},

grouped as (
    select
        {{ lakemerge_keys_sql(merge) }},
        __is_truncate,
        max_by(struct(__sequence, __hash, __is_delete, __row), struct({{ place }}, __hash)) as __highest,
        max(struct({{ place }}, ~__hash as __opposite_hash)) as __lowest,
        count(*) as __changes,
        sum(__null_sequence) as __null_sequences
    from hashed
    group by {{ lakemerge_keys_sql(merge) }}, __is_truncate
)

select
    {{ lakemerge_keys_sql(merge) }},
    __is_truncate,
    __highest.__row as __row,
    __highest.__sequence as __sequence,
    __highest.__is_delete as __is_delete,
    __changes,
    __null_sequences,
    __highest.__hash <> ~__lowest.__opposite_hash as __is_tie
from grouped
{%- endif %}
{%- endmacro -%}
