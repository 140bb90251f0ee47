{# What was expected of a column's value and what was found, in words. #}
{%- macro lakemerge_field_text_sql(plan, group, record_column) -%}
    {%- set field = group.field_sql(record_column) -%}
    {%- if group.is_typed -%}
        {%- set found = 'cast(' ~ group.typed[record_column.name].source ~ ' as string)' -%}
    {%- elif group.format == 'json' -%}
        {%- set found = 'to_json(' ~ field ~ ')' -%}
    {%- else -%}
        {%- set found = "concat('\"', " ~ field ~ ", '\"')" -%}
    {%- endif -%}
    concat('expected {{ record_column.declared }}, found ', left({{ found }}, 100))
{%- endmacro -%}
