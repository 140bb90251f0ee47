{# Where a new table's folder is, if `location_root` says so. #}
{% macro lakemerge__location_clause() -%}
    {%- if config.get('location_root') -%}
        location {{ adapter.string_literal(config.get('location_root') ~ '/' ~ model['alias']) }}
    {%- endif -%}
{%- endmacro %}
