{# The code of what is wrong with a column's value. #}
{%- macro lakemerge_field_reason_sql(plan, group, column) -%}
    {%- set field = group.field_sql(column) -%}
    {%- if group.is_typed -%}
        if({{ column.quoted }} is null, 'overflow', {{ "'too_long'" if column.type.kind == 'char' else "'precision_lost'" }})
    {%- elif group.format == 'json' -%}
        {{ lakemerge_json_reason_sql(column.type, field, plan.options) }}
    {%- else -%}
        {{ lakemerge_text_reason_sql(column.type, field, column.quoted) }}
    {%- endif -%}
{%- endmacro -%}
