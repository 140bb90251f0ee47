{# Whether a column's value is null or loses nothing of the record; see `lakemerge_text_exact_sql`. #}
{%- macro lakemerge_field_exact_sql(plan, group, record_column) -%}
    {%- set field = group.field_sql(record_column) -%}
    {%- if record_column.constant or field is none -%}
        true
    {%- elif group.is_typed -%}
        {%- set exact = group.typed[record_column.name].exact -%}
        {%- set held = lakemerge_held_sql(record_column.type, record_column.quoted, plan.options) -%}
        {{ exact if held == 'true' else '(' ~ exact ~ ') and ' ~ held }}
    {%- elif group.format == 'json' -%}
        {{ field }} is null or ({{ lakemerge_json_exact_sql(
            record_column.type, field, plan.options, number=group.number_sql(record_column), value=record_column.quoted
        ) }})
    {%- else -%}
        {%- set exact = lakemerge_text_exact_sql(record_column.type, field, record_column.quoted, plan.options) -%}
        {{ 'true' if exact == 'true' else field ~ ' is null or (' ~ exact ~ ')' }}
    {%- endif -%}
{%- endmacro -%}
