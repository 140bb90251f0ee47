{#
    The stored rows in the columns and types that the table will have, and _lakemerge_stored_sequence: their sequence, null if
    the table does not hold it.
#}
{%- macro lakemerge_stored_rows_sql(merge, filter, join='') -%}
select {{ lakemerge_one_task_hint(join) }}
    *,
    {{ merge.stored_sequence or 'cast(null as int)' }} as _lakemerge_stored_sequence
from (
    select
        {%- for column in merge.columns %}
        {{ column.plan.from_table }} as {{ column.quoted }}{{ ',' if not loop.last }}
        {%- endfor %}
    from {{ merge.table }}
    where {{ filter }}
)
{%- endmacro -%}
