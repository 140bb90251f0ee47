{# The body of a scalar function in SQL: an expression or a query of one value. #}
{% macro lakemerge__scalar_function_body_sql() -%}
    return {{ model.compiled_code }}
{%- endmacro %}
