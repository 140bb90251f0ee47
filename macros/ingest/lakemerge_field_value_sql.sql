{# The value of a column, from the field of a record; see `lakemerge_record_fields_sql`. #}
{%- macro lakemerge_field_value_sql(plan, group, record_column) -%}
    {%- set field = group.field_sql(record_column) -%}
    {%- if record_column.constant -%}
        {{ record_column.constant }}
    {%- elif field is none -%}
        cast(null as {{ record_column.type.sql }})
    {%- elif group.is_typed -%}
        {{ field }}
    {%- else -%}
        {%- if group.format == 'json' -%}
            {%- set value = lakemerge_json_value_sql(record_column.type, field, plan.options, number=group.number_sql(record_column)) -%}
        {%- else -%}
            {%- set value = lakemerge_text_value_sql(record_column.type, field, plan.options) -%}
        {%- endif -%}
        {#- a struct of nulls is not null itself -#}
        {{ 'if(' ~ field ~ ' is null, null, ' ~ value ~ ')' if record_column.type.kind == 'struct' else value }}
    {%- endif -%}
{%- endmacro -%}
