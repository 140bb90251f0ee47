{# The value of a column, from the parts of a record; see `lakemerge_record_parts_sql`. #}
{%- macro lakemerge_field_value_sql(plan, group, record_column) -%}
    {%- set field = group.field_sql(record_column) -%}
    {%- if record_column.constant -%}
        {{ record_column.constant }}
    {%- elif field is none -%}
        cast(null as {{ record_column.type.sql }})
    {%- elif group.is_typed -%}
        {{ field }}
    {%- elif group.format == 'json' -%}
        if(is_variant_null({{ field }}), null, {{ lakemerge_json_value_sql(record_column.type, field, plan.options) }})
    {%- else -%}
        {%- set value = lakemerge_text_value_sql(record_column.type, field, plan.options) -%}
        {{ 'if(' ~ group.null_sql(record_column) ~ ', null, ' ~ value ~ ')' if group.tests_null(record_column) else value }}
    {%- endif -%}
{%- endmacro -%}
