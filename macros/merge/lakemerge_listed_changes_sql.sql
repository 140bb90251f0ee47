{#
    The changes of each key as an array, for partial updates: only the match with the stored row shows which of them
    count and what they result in (`lakemerge_new_row_sql`). Replaces the latest change alone; it has the same columns,
    and __steps: the changes in the order of their sequence, one for each.

    A tie anywhere is a contradiction, because every change may leave a value behind, unless the tie is before the key's
    last delete. Use this after the CTE `hashed`, whose rows are shuffled by key once for both aggregates. __place is
    the sequence, with what orders the changes of one sequence, if anything does.
#}
{%- macro lakemerge_listed_changes_sql(merge) -%}
{%- set place = 'struct(__sequence, __order)' if merge.change_order else '__sequence' -%}
{%- set step_place = '__place' if merge.change_order else '__sequence' -%}
gathered as (
    select /*+ repartition({{ lakemerge_keys_sql(merge) }}) */ *
    from hashed
),

placed as (
    select
        {{ lakemerge_keys_sql(merge) }},
        __is_truncate,
        __sequence,
        {{ place }} as __place,
        max_by(struct(__is_delete, __row), __hash) as __change,
        min(__hash) <> max(__hash) as __is_tie,
        count(*) as __changes,
        sum(__null_sequence) as __null_sequences
    from gathered
    group by {{ lakemerge_keys_sql(merge) }}, __is_truncate, __sequence{{ ', __order' if merge.change_order }}
),

listed as (
    select
        {{ lakemerge_keys_sql(merge) }},
        __is_truncate,
        array_sort(
            collect_list(struct(__sequence, __change.__is_delete, __change.__row{{ ', __place' if merge.change_order }})),
            (one, other) -> case
                when one.{{ step_place }} < other.{{ step_place }} then -1
                when one.{{ step_place }} > other.{{ step_place }} then 1
                else 0
            end
        ) as __steps,
        max(if(__change.__is_delete, __place, null)) as __deleted_at,
        max(if(__is_tie, __place, null)) as __tied_at,
        sum(__changes) as __changes,
        sum(__null_sequences) as __null_sequences
    from placed
    group by {{ lakemerge_keys_sql(merge) }}, __is_truncate
)

select
    {{ lakemerge_keys_sql(merge) }},
    __is_truncate,
    __steps,
    element_at(__steps, -1).__row as __row,
    element_at(__steps, -1).__sequence as __sequence,
    element_at(__steps, -1).__is_delete as __is_delete,
    __changes,
    __null_sequences,
    coalesce(__tied_at >= __deleted_at, __tied_at is not null) as __is_tie
from listed
{%- endmacro -%}
