{# dbt_expectations: its macro for Spark reads no flags, and a raw pattern as any other string: \d is the letter d. #}
{% macro spark__regexp_instr(source_value, regexp, position, occurrence, is_raw, flags) %}
    {%- set pattern = "(?" ~ (flags | replace("c", "")) ~ ")" ~ regexp if flags else regexp -%}
    regexp_instr({{ source_value }}, {{ "r" if is_raw }}'{{ pattern }}')
{% endmacro %}
