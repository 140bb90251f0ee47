{# The code of what is wrong with a column's value. #}
{%- macro lakemerge_field_reason_sql(plan, group, record_column) -%}
    {%- set field = group.field_sql(record_column) -%}
    {%- if group.is_typed -%}
        if({{ record_column.quoted }} is null, 'overflow', {{ "'too_long'" if record_column.type.kind == 'char' else "'precision_lost'" }})
    {%- elif group.format == 'json' -%}
        {{ lakemerge_json_reason_sql(record_column.type, field, plan.options) }}
    {%- else -%}
        {{ lakemerge_text_reason_sql(record_column.type, field, record_column.quoted) }}
    {%- endif -%}
{%- endmacro -%}
