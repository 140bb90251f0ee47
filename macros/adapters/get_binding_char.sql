{# The placeholder of a bound value in a statement. #}
{% macro lakemerge__get_binding_char() -%}
    {{ return('?') }}
{%- endmacro %}
