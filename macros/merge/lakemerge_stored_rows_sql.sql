{#
    The stored rows in the columns and types that the table will have, with __stored_sequence and __partition
    (its partition columns as strings, in order; what partition names are made of).
#}
{%- macro lakemerge_stored_rows_sql(merge, filter) -%}
select
    *,
    {{ merge.stored_sequence or 'cast(null as int)' }} as __stored_sequence,
    {{ lakemerge_partition_sql(merge.partitions) }} as __partition
from (
    select
        {%- for column in merge.columns %}
        {{ column.plan.from_table }} as {{ column.quoted }}{{ ',' if not loop.last }}
        {%- endfor %}
    from {{ merge.table }}
    where {{ filter }}
)
{%- endmacro -%}
