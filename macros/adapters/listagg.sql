{#
    The values of a group as one text.

    Args:
        measure: an expression of text; may begin with `distinct`.
        delimiter_text: the separator between values, a SQL text.
        order_by_clause: an `order by` clause; none for any order.
        limit_num: the maximum number of values to join; none for all.
#}
{% macro lakemerge__listagg(measure, delimiter_text, order_by_clause, limit_num) -%}
    {%- set order = ' within group (' ~ order_by_clause ~ ')' if order_by_clause else '' -%}
    {%- if limit_num -%}
        {#- a control character as the delimiter first, so that the values can be split again -#}
        array_join(
            slice(split(listagg({{ measure }}, '\u0001'){{ order }}, '\u0001'), 1, {{ limit_num }}),
            {{ delimiter_text }}
        )
    {%- else -%}
        listagg({{ measure }}, {{ delimiter_text }}){{ order }}
    {%- endif -%}
{%- endmacro %}
