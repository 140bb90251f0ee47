{# What was expected of a column's value and what was found, in words. #}
{%- macro lakemerge_field_text_sql(plan, group, column) -%}
    {%- set field = group.field_sql(column) -%}
    {%- if group.is_typed -%}
        {%- set found = 'cast(' ~ group.typed[column.name].source ~ ' as string)' -%}
    {%- elif group.format == 'json' -%}
        {%- set found = 'to_json(' ~ field ~ ')' -%}
    {%- else -%}
        {%- set found = "concat('\"', " ~ field ~ ", '\"')" -%}
    {%- endif -%}
    concat('expected {{ column.declared }}, found ', left({{ found }}, 100))
{%- endmacro -%}
