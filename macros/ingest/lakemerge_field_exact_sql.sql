{# Whether a column's value is null, or all that the record says; see `lakemerge_text_exact_sql`. #}
{%- macro lakemerge_field_exact_sql(plan, group, column) -%}
    {%- set field = group.field_sql(column) -%}
    {%- if column.constant or field is none -%}
        true
    {%- elif group.is_typed -%}
        {{ group.typed[column.name].exact }}
    {%- elif group.format == 'json' -%}
        {{ field }} is null or is_variant_null({{ field }}) or ({{ lakemerge_json_exact_sql(column.type, field, plan.options) }})
    {%- else -%}
        {%- set exact = lakemerge_text_exact_sql(column.type, field, column.quoted, plan.options) -%}
        {{ 'true' if exact == 'true' else group.null_sql(column) ~ ' or (' ~ exact ~ ')' }}
    {%- endif -%}
{%- endmacro -%}
