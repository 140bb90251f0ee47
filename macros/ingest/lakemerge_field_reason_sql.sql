{# The code of a column value's problem. #}
{%- macro lakemerge_field_reason_sql(plan, group, record_column) -%}
    {%- set field = group.field_sql(record_column) -%}
    {%- if group.is_typed -%}
        {%- set reason = {'char': 'too_long', 'date': 'bad_date', 'timestamp': 'bad_timestamp'}.get(record_column.type.kind, 'precision_lost') -%}
        if({{ record_column.quoted }} is null, 'overflow', '{{ reason }}')
    {%- elif group.format == 'json' -%}
        {{ lakemerge_json_reason_sql(record_column.type, field, plan.options, group.number_sql(record_column)) }}
    {%- else -%}
        {{ lakemerge_text_reason_sql(record_column.type, field, record_column.quoted) }}
    {%- endif -%}
{%- endmacro -%}
