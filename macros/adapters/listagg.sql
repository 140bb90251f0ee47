{#
    The values of a group as one text.

    Args:
        measure: an expression of text; may begin with `distinct`.
        delimiter_text: the separator between values, a SQL text.
        order_by_clause: an `order by` clause; none for any order.
        limit_num: the maximum number of values to join; none for all.
#}
{% macro lakemerge__listagg(measure, delimiter_text, order_by_clause, limit_num) -%}
    {%- if adapter.is_spark_3() -%}
        {{ return(_lakemerge_listagg_of_arrays(measure, delimiter_text, order_by_clause, limit_num)) }}
    {%- endif -%}
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

{# The same in Spark 3.5, which has no listagg: an array of the sort keys and the values, sorted, joined. #}
{% macro _lakemerge_listagg_of_arrays(measure, delimiter_text, order_by_clause, limit_num) -%}
    {%- set order = modules.re.match('(?is)^\\s*order\\s+by\\s+(.*?)(?:\\s+(asc|desc))?\\s*$', (order_by_clause or '') | string) -%}
    {%- set keys, direction = (order.group(1), order.group(2)) if order else ('', none) -%}
    {%- if modules.re.search('(?i)\\b(asc|desc|nulls)\\b', keys) -%}
        {%- do exceptions.raise_compiler_error(
            'listagg: Spark 3.5 sorts by keys of one direction, which stands at the end; found "' ~ order_by_clause ~ '"'
        ) -%}
    {%- endif -%}
    {%- set value = modules.re.sub('(?i)^\\s*distinct\\s+', '', measure | string) -%}
    {%- set rows = 'collect_list(struct(' ~ (keys ~ ', ' if keys) ~ value ~ ' as lakemerge_value))' -%}
    {%- set sorted = 'sort_array(' ~ rows ~ ', ' ~ ((direction or 'asc') | lower == 'asc') | lower ~ ')' if keys else rows -%}
    {%- set values = 'filter(transform(' ~ sorted ~ ', one -> one.lakemerge_value), one -> one is not null)' -%}
    {%- set values = 'array_distinct(' ~ values ~ ')' if value != measure else values -%}
    {%- set values = 'slice(' ~ values ~ ', 1, ' ~ limit_num ~ ')' if limit_num else values -%}
    if(size({{ values }}) = 0, null, array_join({{ values }}, {{ delimiter_text }}))
{%- endmacro %}
