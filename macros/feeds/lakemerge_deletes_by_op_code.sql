{# The `apply_as_deletes` of a feed with a column that says what a change is. #}
{%- macro lakemerge_deletes_by_op_code(op_column='op', codes=['D']) -%}
    {%- set quoted = [] -%}
    {%- for code in codes -%}{%- do quoted.append(adapter.string_literal(code | upper)) -%}{%- endfor -%}
    {{- return('coalesce(upper(' ~ op_column ~ ') in (' ~ (quoted | join(', ')) ~ '), false)') -}}
{%- endmacro -%}
