{# The mark for a value that is given apart from a statement's text. #}
{% macro lakemerge__get_binding_char() -%}
    {{ return('?') }}
{%- endmacro %}
