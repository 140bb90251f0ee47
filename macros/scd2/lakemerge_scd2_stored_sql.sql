{#
    The valid stored versions (not corrected ones), with internal names.

    Columns: __key_1…, __start, __end, __row, __known (the version of the table that first had the row),
    __partition.

    Args:
        filter: SQL over the table's columns that chooses the rows to read.
#}
{%- macro lakemerge_scd2_stored_sql(scd2, filter) -%}
select
    {%- for key in scd2.keys %}
    {{ key.plan.from_table }} as __key_{{ loop.index }},
    {%- endfor %}
    {{ scd2.start_at.from_table }} as __start,
    {{ scd2.end_at.from_table }} as __end,
    named_struct(
        {%- for column in scd2.merge.columns %}
        '{{ column.name | replace("\\", "\\\\") | replace("'", "\\'") }}', {{ column.plan.from_table }}{{ ',' if not loop.last }}
        {%- endfor %}
    ) as __row,
    {{ scd2.known_from.from_table if scd2.bitemporal else 'cast(null as bigint)' }} as __known,
    {{ lakemerge_partition_sql(scd2.columns | selectattr('is_partition') | list) }} as __partition
from {{ scd2.merge.table }}
where {{ filter }}{% if scd2.bitemporal %} and {{ scd2.known_to.quoted }} is null{% endif %}
{%- endmacro -%}
