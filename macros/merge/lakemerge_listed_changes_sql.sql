{#
    The changes of each key side by side, for partial updates: which of them count, and so what they come to, is known
    only when they meet what is stored (`lakemerge_new_row_sql`). Takes the place of the latest change alone, whose
    columns it has, and __steps: the changes in the order of their sequence, one for each.

    A tie anywhere is a contradiction, for every change may leave something, but for those before the key's last
    delete. To be used after the CTE `hashed`, whose rows are shuffled by key once for both aggregates.
#}
{%- macro lakemerge_listed_changes_sql(merge) -%}
gathered as (
    select /*+ repartition({{ lakemerge_keys_sql(merge) }}) */ *
    from hashed
),

placed as (
    select
        {{ lakemerge_keys_sql(merge) }},
        __is_truncate,
        __sequence,
        max_by(struct(__is_delete, __row), __hash) as __change,
        min(__hash) <> max(__hash) as __is_tie,
        count(*) as __changes,
        sum(__null_sequence) as __null_sequences
    from gathered
    group by {{ lakemerge_keys_sql(merge) }}, __is_truncate, __sequence
),

listed as (
    select
        {{ lakemerge_keys_sql(merge) }},
        __is_truncate,
        array_sort(
            collect_list(struct(__sequence, __change.__is_delete, __change.__row)),
            (one, other) -> case
                when one.__sequence < other.__sequence then -1
                when one.__sequence > other.__sequence then 1
                else 0
            end
        ) as __steps,
        max(if(__change.__is_delete, __sequence, null)) as __deleted_at,
        max(if(__is_tie, __sequence, null)) as __tied_at,
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
