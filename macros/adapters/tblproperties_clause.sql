{# The `tblproperties` of a new table: those of its config. #}
{% macro lakemerge__tblproperties_clause() -%}
    {{ lakemerge_table_properties(config.get('tblproperties') or {}) }}
{%- endmacro %}
