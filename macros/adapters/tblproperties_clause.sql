{# The `tblproperties` of a new table: those of its config. #}
{% macro lakemerge__tblproperties_clause() -%}
    {{ table_properties(config.get('tblproperties') or {}) }}
{%- endmacro %}
