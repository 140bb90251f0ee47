{#
    The records of a group with one column per field: `_lakemerge_field_<column>`, a text or a JSON value, null if the
    record says null. The parts of `lakemerge_record_parts_sql` are kept.
#}
{%- macro lakemerge_record_fields_sql(plan, group) -%}
    {%- if group.is_typed -%}
{{ lakemerge_record_parts_sql(plan, group) }}
    {%- else -%}
select
    {%- for column in plan.columns if not column.constant and group.part_sql(column) is not none %}
    {{ group.part_sql(column) }} as {{ group.field_sql(column) }},
    {%- endfor %}
    *
from (
    {{ lakemerge_record_parts_sql(plan, group) | indent(4) }}
)
    {%- endif -%}
{%- endmacro -%}
