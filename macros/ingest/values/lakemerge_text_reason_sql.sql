{#
    The code of the problem of a text that is not exact; see `lakemerge_text_exact_sql`.

    Args:
        type: a ValueType.
        text: SQL of the text.
        value: SQL of what `lakemerge_text_value_sql` makes of it.
#}
{%- macro lakemerge_text_reason_sql(type, text, value) -%}
    {%- if type.kind == 'char' -%}
        'too_long'
    {%- elif type.kind == 'integer' -%}
        if({{ text }} rlike '^[+-]?[0-9]+$', 'overflow', 'malformed_value')
    {%- elif type.kind == 'decimal' -%}
        case
            when not {{ text }} rlike '^[+-]?([0-9]+([.][0-9]*)?|[.][0-9]+)$' then 'malformed_value'
            when {{ value }} is null then 'overflow'
            else 'precision_lost'
        end
    {%- elif type.kind == 'float' -%}
        case
            when not {{ text }} rlike '^[-+]?(?:[0-9]+[.]?[0-9]*|[.][0-9]+)(?:[eE][-+]?[0-9]+)?\\z' then 'malformed_value'
            when {{ value }} = 0 then 'precision_lost'
            else 'overflow'
        end
    {%- elif type.kind in ('date', 'timestamp') -%}
        'bad_{{ type.kind }}'
    {%- else -%}
        'malformed_value'
    {%- endif -%}
{%- endmacro -%}
