{# The arguments of a function in SQL, with their default values. #}
{% macro lakemerge__formatted_scalar_function_args_sql() -%}
    {%- for arg in model.arguments -%}
        {{ arg.name }} {{ arg.data_type }}
        {%- if arg.get('default_value') is not none %} default {{ arg.get('default_value') }}{% endif -%}
        {{- ', ' if not loop.last -}}
    {%- endfor -%}
{%- endmacro %}
