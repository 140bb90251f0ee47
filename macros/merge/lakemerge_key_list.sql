{# Keys as text for an error: `(1, a), (2, b)`. #}
{%- macro lakemerge_key_list(rows) -%}
    {%- set keys = [] -%}
    {%- for row in rows -%}
        {%- do keys.append('(' ~ (row | join(', ')) ~ ')') -%}
    {%- endfor -%}
    {{- return(keys | join(', ')) -}}
{%- endmacro -%}
