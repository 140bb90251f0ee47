{#
    A `tblproperties (…)` clause; empty if there are no properties.

    Args:
        properties: values by name.
#}
{% macro lakemerge_table_properties(properties) -%}
    {%- if properties -%}
        tblproperties (
        {%- for name, value in properties.items() %}
            {{ adapter.string_literal(name) }} = {{ adapter.string_literal(value | string) }}
            {{- ',' if not loop.last }}
        {%- endfor %}
        )
    {%- endif -%}
{%- endmacro %}
