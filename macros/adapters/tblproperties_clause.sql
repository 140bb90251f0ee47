{# The `tblproperties` of a new table: ORC files use ZSTD unless configured otherwise. #}
{% macro lakemerge__tblproperties_clause() -%}
    {%- set properties = {} -%}
    {%- if (config.get('file_format') or 'orc') | lower == 'orc' -%}
        {%- do properties.update({'orc.compress': 'ZSTD'}) -%}
    {%- endif -%}
    {%- do properties.update(config.get('tblproperties') or {}) -%}
    {{ table_properties(properties) }}
{%- endmacro %}
