{#
    The changes of each key combined column by column, as if they were applied one after another: for partial
    updates the latest row alone is not enough.

    A column that updates do not touch has the value of the first change since the last delete, which is what an
    insert of it would have stored. To be used after the CTE `hashed`.
#}
{%- macro lakemerge_folded_changes_sql(merge) -%}
ordered as (
    select
        *,
        max(if(__is_delete, __sequence, null)) over (
            partition by {{ lakemerge_keys_sql(merge) }}, __is_truncate
        ) as __deleted_at
    from hashed
),

living as (
    select
        *,
        __deleted_at is null or __sequence > __deleted_at as __is_living
    from ordered
)

select
    {{ lakemerge_keys_sql(merge) }},
    __is_truncate,
    named_struct(
        {%- for column in merge.columns %}
        '{{ column.name | replace("\\", "\\\\") | replace("'", "\\'") }}', coalesce(
            {{ lakemerge_folded_column_sql(column) }},
            if(bool_or(__is_living), null, max_by(__row.{{ column.quoted }}, struct(__sequence, __hash)))
        ){{ ',' if not loop.last }}
        {%- endfor %}
    ) as __row,
    max(__sequence) as __sequence,
    max_by(__is_delete, struct(__sequence, __hash)) as __is_delete,
    max(__deleted_at) is not null as __replaces,
    count(*) as __changes,
    sum(__null_sequence) as __null_sequences,
    max_by(__hash, struct(__sequence, __hash)) <> max_by(__hash, struct(__sequence, ~__hash)) as __is_tie
from living
group by {{ lakemerge_keys_sql(merge) }}, __is_truncate
{%- endmacro -%}
