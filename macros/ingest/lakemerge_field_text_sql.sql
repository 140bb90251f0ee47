{#
    What was expected of a column's value and what was found, in words; over the records of
    `lakemerge_rejected_records_sql`.
#}
{%- macro lakemerge_field_text_sql(plan, group, record_column) -%}
    {%- set field = group.field_sql(record_column) -%}
    {%- if group.is_typed -%}
        {%- set found = 'cast(' ~ group.typed[record_column.name].source ~ ' as string)' -%}
    {%- elif group.format == 'json' -%}
        {#- as the record has it: variants change the notation of numbers; U+E000 distinguishes numbers from strings -#}
        {%- set marked = '_lakemerge_written[' ~ adapter.string_literal(record_column.field) ~ ']' -%}
        {%- set written = 'regexp_replace(' ~ marked ~ ", '\"?\\ue000([-+.0-9eE]*)\"?', '$1')" -%}
        {%- set found = 'if(' ~ lakemerge_json_is_sql('string', field, plan.options) ~ ', ' ~ _lakemerge_json_of_string_sql(field, plan.options) ~ ', ' ~ written ~ ')' -%}
    {%- else -%}
        {%- set found = "concat('\"', " ~ field ~ ", '\"')" -%}
    {%- endif -%}
    {%- set held = lakemerge_held_sql(record_column.type, record_column.quoted, plan.options) -%}
    concat(
        'expected {{ record_column.declared }}',
        {%- if held != 'true' %}
        if({{ held }}, '', ' that the table can hold'),
        {%- endif %}
        ', found ', left({{ found }}, 100)
    )
{%- endmacro -%}
